-- Extends a claim that still holds; returns the new end of the lease.
-- ARGV: held clock, id, fence, lease.
local run, ready = unpack(KEYS)
local id = ARGV[2]
local before = read_row(run)
if not before or not held_by(before, ARGV[3]) then
  return false
end
local after = copy(before)
after.a = digits(clock(ARGV[1]) + tonumber(ARGV[4]))
if before.s == 'queued' then
  -- A claimed run has its key, if it needs one: it stands nowhere else.
  redis.call('ZREM', ready, member(id, before))
  redis.call('ZADD', ready, 0, member(id, after))
end
write_row(run, before, after)
return after.a
