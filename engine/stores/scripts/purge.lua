-- Removes runs of one place, each with all that is kept of it, that still are as they were found;
-- returns how many. KEYS: `ended`. ARGV: the moments that `ended` was asked with, then the ids.
local ended = KEYS[1]
local place = string.gsub(ended, 'ended$', '')
local older, untold = tonumber(ARGV[1]), tonumber(ARGV[2])

local function may_go(id)
  local moment = tonumber(redis.call('ZSCORE', ended, id))
  return moment and moment < older
    and (moment < untold or not is_behind(place .. 'facts:' .. id))
end

local function forget_facts(id)
  local facts, refs = place .. 'facts:' .. id, place .. 'refs'
  for _, name in ipairs(redis.call('HKEYS', facts)) do
    local kind, rest = string.sub(name, 1, 1), string.sub(name, 2)
    if kind == 'f' then
      -- Another run may have taken the ref over.
      if held_ref(refs, rest) == id then
        redis.call('HDEL', refs, rest)
      end
    elseif kind == 's' then
      redis.call('UNLINK', rest)
    elseif kind == 'c' then
      redis.call('ZREM', place .. 'behind', id .. ' ' .. name)
    end
  end
  redis.call('UNLINK', facts)
end

local function forget_indexes(id, row)
  redis.call('ZREM', ended, id)
  redis.call('ZREM', place .. 'due', id)
  for _, name in ipairs({ ':a:' .. row.g, ':o:' .. row.o }) do
    redis.call('ZREM', place .. 'is:' .. row.s .. name, id)
  end
end

local removed = 0
for at = 3, #ARGV do
  local id = ARGV[at]
  if may_go(id) then
    forget_facts(id)
    forget_indexes(id, read_row(place .. 'run:' .. id))
    redis.call('UNLINK', place .. 'run:' .. id, place .. 'log:' .. id)
    removed = removed + 1
  end
end
return removed
