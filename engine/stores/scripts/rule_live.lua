-- Returns the remembered rules of an agent and owner that hold now: id and rule, one after another.
-- KEYS: these rules. ARGV: held clock.
local now = digits(clock(ARGV[1]))
local found = {}
local rules = redis.call('HGETALL', KEYS[1])
for at = 1, #rules, 2 do
  if string.sub(rules[at + 1], 1, 16) > now then
    found[#found + 1] = rules[at]
    found[#found + 1] = rules[at + 1]
  end
end
return found
