-- The row of a run: a small hash. Its fields, each there only while it says something:
--   v version   s status     g agent      o owner     k concurrency key
--   p rank: ten digits that sort the higher priority first
--   a ready at: claimable from here on; while the run is claimed this is the end of the lease
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
