-- Returns number, approval, run, state and moment of asks, by their number. KEYS: `rows`, and which
-- of them. ARGV: the number after which, and how many.
local found = {}
local listed = redis.call(
  'ZRANGE', KEYS[2], '(' .. ARGV[1], '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[2])
for _, approval in ipairs(listed) do
  local ask = cjson.decode(redis.call('HGET', KEYS[1], approval))
  found[#found + 1] = { ask.number, approval, ask.run, ask.state, ask.since }
end
return found
