-- Removes those of some remembered rules that were over before a moment; returns how many.
-- KEYS: `all`, the rules of one agent and owner. ARGV: the moment, then the ids.
local all, rules = unpack(KEYS)
local older = digits(tonumber(ARGV[1]))
local removed = 0
for at = 2, #ARGV do
  local rule = redis.call('HGET', rules, ARGV[at])
  if rule and string.sub(rule, 1, 16) < older then
    redis.call('HDEL', rules, ARGV[at])
    redis.call('HDEL', all, ARGV[at])
    removed = removed + 1
  end
end
return removed
