-- Returns the rows of a run's cards. ARGV: id.
local facts = KEYS[1]
local found = {}
for _, field in ipairs(redis.call('HKEYS', facts)) do
  if string.match(field, '^c') then
    found[#found + 1] = told_card(ARGV[1], field, read_card(facts, field))
  end
end
return found
