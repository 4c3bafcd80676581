-- Returns cards that are behind and due, longest due first in each place: the moment, then the row.
-- KEYS: the `behind` of each place. ARGV: held clock, limit.
local now = clock(ARGV[1])
local found = {}
for _, behind in ipairs(KEYS) do
  local place = string.gsub(behind, 'behind$', '')
  local late = redis.call(
    'ZRANGE', behind, '-inf', digits(now), 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
  for at = 1, #late, 2 do
    local id, field = string.match(late[at], '^(%S+) (.*)$')
    local card = read_card(place .. 'facts:' .. id, field)
    found[#found + 1] = { digits(tonumber(late[at + 1])), told_card(id, field, card) }
  end
end
return found
