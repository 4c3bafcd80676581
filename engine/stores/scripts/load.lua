-- Reads a run, the record of a key and a closed ticket at one moment.
-- ARGV: held clock, name of the key's fact or '', name of the ticket's fact or ''.
local run, facts = unpack(KEYS)
local row = read_row(run)
if not row then
  return false
end
local now = clock(ARGV[1])
local running = row.w ~= nil and row.s == 'queued' and tonumber(row.a) > now
return {
  digits(now),
  running and 1 or 0,
  redis.call('HGET', facts, 'b'),
  ARGV[2] ~= '' and redis.call('HGET', facts, ARGV[2]),
  ARGV[3] ~= '' and redis.call('HGET', facts, ARGV[3]),
}
