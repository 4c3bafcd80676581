-- Keeps a remembered rule, once. KEYS: `all` (where each rule is), the rules of its agent and owner.
-- ARGV: held clock, id, rule (from when it is over, sixteen digits, and its body), most that hold.
local all, rules = unpack(KEYS)
local id, rule = ARGV[2], ARGV[3]

local function full(now)
  local holding, held = 0, redis.call('HGETALL', rules)
  for at = 2, #held, 2 do
    if string.sub(held[at], 1, 16) > now then
      holding = holding + 1
    end
  end
  return holding >= tonumber(ARGV[4])
end

if redis.call('HEXISTS', all, id) == 1 then
  return 'known'
end
local now = digits(clock(ARGV[1]))
if string.sub(rule, 1, 16) > now and full(now) then
  return 'full'
end
redis.call('HSET', all, id, rules)
redis.call('HSET', rules, id, rule)
return 'kept'
