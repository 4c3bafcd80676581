-- Returns how many ended runs it looked at, then moment and id of those that may go, those that ended
-- first first. KEYS: `ended`. ARGV: the moment before which a run ended, the one before which it
-- ended though a card still is behind, how many to look at, and how many to pass over before.
local ended = KEYS[1]
local place = string.gsub(ended, 'ended$', '')
local old = redis.call(
  'ZRANGE', ended, '-inf', '(' .. ARGV[1], 'BYSCORE', 'LIMIT', ARGV[4], ARGV[3], 'WITHSCORES')
local found = { #old / 2 }
for at = 1, #old, 2 do
  local id, moment = old[at], tonumber(old[at + 1])
  if moment < tonumber(ARGV[2]) or not is_behind(place .. 'facts:' .. id) then
    found[#found + 1] = { moment, id }
  end
end
return found
