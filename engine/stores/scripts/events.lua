-- Returns the lines of a run's log past an event, newest first, and reads no further back.
-- ARGV: the number of that event.
local log = KEYS[1]
local after = tonumber(ARGV[1])
local found = {}
local last = -1
while true do
  local some = redis.call('LRANGE', log, last - 15, last)
  for at = #some, 1, -1 do
    -- A commit without events has no last number, and says nothing of those before it.
    local seq = tonumber(string.match(some[at], '^[^\n]*\n(%d+)\n'))
    if seq > 0 and seq <= after then
      return found
    end
    found[#found + 1] = some[at]
  end
  if #some < 16 then
    return found
  end
  last = last - 16
end
