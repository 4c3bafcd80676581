-- Where queued runs stand. `ready` sorts by rank, then by when a run is claimable, then by age: all
-- scores are 0 and the member says it all. A run that has no concurrency key, or holds it, stands
-- in `ready`. The others of a key stand in that key's line; while nobody holds the key, the first
-- of the line stands in `ready` too.
local function member(id, row)
  return row.p .. row.a .. row.m .. id
end

local function id_of(stood)
  return string.sub(stood, 43)
end

local function line_of(ready, row)
  return string.gsub(ready, 'ready$', '') .. 'line:' .. row.k
end

local function first_of(line)
  return redis.call('ZRANGE', line, 0, 0)[1]
end

local function leave_queue(ready, holds, id, row)
  local mine = member(id, row)
  redis.call('ZREM', ready, mine)
  local holder = row.k and redis.call('HGET', holds, row.k)
  if not row.k or holder == id then
    return
  end
  local line = line_of(ready, row)
  redis.call('ZREM', line, mine)
  local first = not holder and first_of(line)
  if first then
    redis.call('ZADD', ready, 0, first)
  end
end

local function enter_queue(ready, holds, id, row)
  local mine = member(id, row)
  local holder = row.k and redis.call('HGET', holds, row.k)
  if not row.k or holder == id then
    redis.call('ZADD', ready, 0, mine)
    return
  end
  local line = line_of(ready, row)
  local before = first_of(line)
  redis.call('ZADD', line, 0, mine)
  if not holder and first_of(line) == mine then
    if before then
      redis.call('ZREM', ready, before)
    end
    redis.call('ZADD', ready, 0, mine)
  end
end

local function free_key(ready, holds, id, row)
  if not row.k or redis.call('HGET', holds, row.k) ~= id then
    return
  end
  redis.call('HDEL', holds, row.k)
  local first = first_of(line_of(ready, row))
  if first then
    redis.call('ZADD', ready, 0, first)
  end
end

-- Lets a run hold its key. From now on the others stand in their line only.
local function hold_key(ready, holds, id, row)
  local first = first_of(line_of(ready, row))
  if first then
    redis.call('ZREM', ready, first)
  end
  redis.call('HSET', holds, row.k, id)
end

-- Calls visit(rank, first, cursor) with the first member of each rank, highest priority first.
local function each_rank(ready, visit)
  local from = '-'
  while true do
    local first = redis.call('ZRANGE', ready, from, '+', 'BYLEX', 'LIMIT', 0, 1)[1]
    if not first then
      return
    end
    local rank = string.sub(first, 1, 10)
    if visit(rank, first) then
      return
    end
    from = '(' .. rank .. '~'
  end
end
