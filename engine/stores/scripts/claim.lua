-- Takes a run that stands ready, if it is still as it was read.
-- ARGV: held clock, id, version, fence, worker, lease.
local run, ready, holds = unpack(KEYS)
local id, version, fence, worker = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local now = clock(ARGV[1])
local before = read_row(run)
if not before or before.v ~= version or (before.f or '0') ~= fence or before.s ~= 'queued' then
  return false
end
local mine = member(id, before)
if tonumber(before.a) > now or not redis.call('ZSCORE', ready, mine) then
  return false
end

local after = copy(before)
after.f = string.format('%.0f', tonumber(fence) + 1)
after.w = worker
after.a = digits(now + tonumber(ARGV[6]))
if before.w then
  after.l = string.format('%.0f', tonumber(before.l or 0) + 1)
end
redis.call('ZREM', ready, mine)
if before.k and redis.call('HGET', holds, before.k) ~= id then
  -- It stood first in its line. From now on the others stand there only.
  redis.call('ZREM', line_of(ready, before), mine)
  redis.call('HSET', holds, before.k, id)
end
redis.call('ZADD', ready, 0, member(id, after))
write_row(run, before, after)
return { after.f, after.l or '0', after.a }
