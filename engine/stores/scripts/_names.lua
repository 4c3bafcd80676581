-- Names that lead to a run: refs, and the keys that runs were started under. What leads to a run is
-- among its facts: refs as `f` with the ref, keys as `s` with where their record is kept.
local function held_ref(refs, ref)
  local held = redis.call('HGET', refs, ref)
  if held then
    return string.match(held, '^(%S+) ?(.*)$')
  end
end

-- A ref that an ended run or a closed ticket had may be taken over.
local function in_use(place, refs, ref)
  local run, approval = held_ref(refs, ref)
  if not run then
    return false
  end
  if approval ~= '' and redis.call('HEXISTS', place .. 'facts:' .. run, 't' .. approval) == 1 then
    return false
  end
  local status = redis.call('HGET', place .. 'run:' .. run, 's')
  return status == 'queued' or status == 'waiting'
end

local function take_ref(refs, facts, ref, held)
  redis.call('HSET', refs, ref, held)
  redis.call('HSET', facts, 'f' .. ref, '')
end

local function keep_start(facts, kept, told, named)
  redis.call('SET', kept, told)
  redis.call('HSET', facts, 's' .. kept, named)
end
