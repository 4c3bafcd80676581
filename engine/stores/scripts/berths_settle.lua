-- Notes that the tickets of called asks were released. ARGV: approvals.
for _, approval in ipairs(ARGV) do
  local ask = read_ask(approval)
  if ask and ask.state == 'called' then
    redis.call('ZREM', called, approval)
    ask.state = 'open'
    write_ask(ask)
  end
end
return 1
