-- Writes what nobody reads; tells whether this is the store that was meant.
-- KEYS: `meta`. ARGV: the store's id.
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'probed', '1')
return 1
