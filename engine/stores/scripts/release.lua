-- Gives a claim back, if it still holds. ARGV: held clock, id, fence, retry at, bell, ring.
local run, ready = unpack(KEYS)
local id, retry_at = ARGV[2], ARGV[4]
local before = read_row(run)
if not before or not held_by(before, ARGV[3]) then
  return false
end
local after = copy(before)
after.w = nil
after.a = retry_at ~= '' and retry_at or digits(clock(ARGV[1]))
if retry_at ~= '' then
  after.l = string.format('%.0f', tonumber(before.l or 0) + 1)
end
if before.s == 'queued' then
  redis.call('ZREM', ready, member(id, before))
  redis.call('ZADD', ready, 0, member(id, after))
end
write_row(run, before, after)
redis.call('PUBLISH', ARGV[5], ARGV[6])
return true
