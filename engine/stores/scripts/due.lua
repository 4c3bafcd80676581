-- Returns deadline, id, version and body of runs past a deadline, earliest first in each place.
-- KEYS: the `due` of each place. ARGV: held clock, limit.
local now = clock(ARGV[1])
local found = {}
for _, due in ipairs(KEYS) do
  local place = string.gsub(due, 'due$', '')
  local late = redis.call(
    'ZRANGE', due, '-inf', '(' .. digits(now), 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
  for at = 1, #late, 2 do
    local id = late[at]
    local version = redis.call('HGET', place .. 'run:' .. id, 'v')
    local body = redis.call('HGET', place .. 'facts:' .. id, 'b')
    found[#found + 1] = { digits(tonumber(late[at + 1])), id, version, body }
  end
end
return found
