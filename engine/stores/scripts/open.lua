-- Gives a place its identity and layout, if it has none; returns those it has.
-- KEYS: the `meta` of some places. ARGV: identity, layout.
local found
for _, meta in ipairs(KEYS) do
  if redis.call('EXISTS', meta) == 0 then
    redis.call('HSET', meta, 'id', ARGV[1], 'layout', ARGV[2])
  end
  found = redis.call('HMGET', meta, 'id', 'layout')
end
return found
