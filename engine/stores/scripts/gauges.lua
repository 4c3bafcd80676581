-- Counts what is live in some places: the clock, runs queued, those of them that a live claim holds,
-- runs parked and since when the first is (or ''), cards behind, those due and since when the first.
-- KEYS: `agents`, `claimed`, `parked` and `behind` of each place. ARGV: held clock.
local now = clock(ARGV[1])

local function first_of(index)
  return tonumber(redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')[2])
end

local function earlier(one, other)
  return one and other and math.min(one, other) or one or other
end

local live, running, waiting, behind, due = 0, 0, 0, 0, 0
local waiting_since, due_since
for at = 1, #KEYS, 4 do
  local agents, claimed, parked, cards = unpack(KEYS, at, at + 3)
  local queued = string.gsub(agents, 'agents$', 'is:queued:a:')
  for _, agent in ipairs(redis.call('SMEMBERS', agents)) do
    live = live + redis.call('ZCARD', queued .. agent)
  end
  running = running + redis.call('ZCOUNT', claimed, '(' .. digits(now), '+inf')
  waiting = waiting + redis.call('ZCARD', parked)
  waiting_since = earlier(waiting_since, first_of(parked))
  behind = behind + redis.call('ZCARD', cards)
  due = due + redis.call('ZCOUNT', cards, '-inf', digits(now))
  due_since = earlier(due_since, first_of(cards))
end
if due_since and due_since > now then
  due_since = nil
end
return {
  digits(now), live - running, running, waiting, waiting_since and digits(waiting_since) or '',
  behind, due, due_since and digits(due_since) or '',
}
