-- Returns names and bodies of a run's records from an entry on. ARGV: the entry.
local facts = KEYS[1]
local first = tonumber(ARGV[1])
local found = {}
for _, name in ipairs(redis.call('HKEYS', facts)) do
  local entry = string.match(name, '^r(%d+)%.')
  if entry and tonumber(entry) >= first then
    found[#found + 1] = name
    found[#found + 1] = redis.call('HGET', facts, name)
  end
end
return found
