-- Puts a remembered rule in the place of what it was, if it is that still; tells whether it was.
-- KEYS: the rules of its agent and owner. ARGV: id, the rule before and after.
local rules = KEYS[1]
if redis.call('HGET', rules, ARGV[1]) ~= ARGV[2] then
  return 0
end
redis.call('HSET', rules, ARGV[1], ARGV[3])
return 1
