-- The row of a run: a small hash. Its fields, each there only while it says something:
--   v version   s status     g agent      o owner     k concurrency key
--   p rank: ten digits that sort the higher priority first
--   a ready at: claimable from here on; while the run is claimed this is the end of the lease, while
--     it waits since when, once it has ended when that was
--   m made at   d deadline   w worker     f fence     l losses
local function read_row(key)
  local flat = redis.call('HGETALL', key)
  if #flat == 0 then
    return nil
  end
  local row = {}
  for at = 1, #flat, 2 do
    row[flat[at]] = flat[at + 1]
  end
  return row
end

-- Which runs a worker holds, which wait and which have ended, each by the row's moment.
local function standing(row)
  if row.s == 'queued' then
    return row.w and 'claimed'
  end
  return row.s == 'waiting' and 'parked' or 'ended'
end

local function write_row(key, before, after)
  for field, value in pairs(after) do
    if before[field] ~= value then
      redis.call('HSET', key, field, value)
    end
  end
  for field in pairs(before) do
    if after[field] == nil then
      redis.call('HDEL', key, field)
    end
  end
  local place, id = string.match(key, '^({hs:.}:)run:(.*)$')
  local was, is = before.s and standing(before), standing(after)
  if was and was ~= is then
    redis.call('ZREM', place .. was, id)
  end
  if is and (was ~= is or before.a ~= after.a) then
    redis.call('ZADD', place .. is, after.a, id)
  end
end

local function copy(row)
  local made = {}
  for field, value in pairs(row) do
    made[field] = value
  end
  return made
end

local function held_by(row, fence)
  return row.w ~= nil and row.f == fence
end

-- The age of a new run: it orders the lists and breaks ties. By the server's own clock, whatever a
-- test holds.
local function next_age(meta)
  local last = tonumber(redis.call('HGET', meta, 'made') or 0)
  local age = digits(math.max(clock(''), last + 1))
  redis.call('HSET', meta, 'made', age)
  return age
end
