-- Returns the rows of a run's cards. ARGV: id.
local cards = KEYS[1]
local found = {}
for _, field in ipairs(redis.call('HKEYS', cards)) do
  if field ~= 'n' then
    found[#found + 1] = told_card(ARGV[1], field, read_card(cards, field))
  end
end
return found
