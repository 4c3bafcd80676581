-- Forgets asks and calls others; tells whether any was called. ARGV: the bell, how we ring it, then
-- approvals.
local gone = false
for at = 3, #ARGV do
  local ask = read_ask(ARGV[at])
  if ask then
    quit(ask)
    redis.call('HDEL', rows, ask.approval)
    redis.call('ZREM', known, ask.approval)
    gone = true
  end
end
local any = gone and call_all()
if any then
  redis.call('PUBLISH', ARGV[1], ARGV[2])
end
return any and 1 or 0
