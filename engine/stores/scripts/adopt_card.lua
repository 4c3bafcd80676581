-- Takes a message in as a post of a card; tells whether it was unknown.
-- ARGV: held clock, id, field, receipt, the message it names or '', bell, ring.
local keys = { run = KEYS[1], facts = KEYS[2], behind = KEYS[3] }
if keep_message(keys, ARGV[2], ARGV[3], ARGV[4], ARGV[5], clock(ARGV[1])) then
  redis.call('PUBLISH', ARGV[6], ARGV[7])
  return 1
end
return 0
