-- Checks a change in the order the port promises, then writes all of it.
-- ARGV: held clock, facts about the change (JSON), the run's body, the line for the log, then names
-- and bodies of write-once facts.
local meta, run, facts, log, ready, due, behind, refs, holds = unpack(KEYS, 1, 9)
local change = cjson.decode(ARGV[2])
local id = change.id
local place = string.gsub(meta, 'meta$', '')

if redis.call('HGET', meta, 'id') ~= change.store then
  return { 'stranger' }
end

local asked = change.asked
if asked then
  local told
  if asked.start then
    told = redis.call('GET', KEYS[10])
  else
    told = redis.call('HGET', facts, asked.name)
  end
  if told then
    return { 'told', told }
  end
end

local before = read_row(run)
local version = before and tonumber(before.v) or 0
if version ~= change.expected then
  local line = redis.call('LINDEX', log, change.expected)
  local mine = change.commit .. '\n'
  if line and string.sub(line, 1, #mine) == mine then
    return { 'again' }
  end
  return before and { 'conflict', before.v } or { 'absent' }
end
if before and change.fence and not held_by(before, change.fence) then
  return { 'lost' }
end

local now = clock(ARGV[1])
if change.not_after and now > tonumber(change.not_after) then
  return { 'late' }
end
if change.not_before and now <= tonumber(change.not_before) then
  return { 'early' }
end

local new = {}
for at = 5, #ARGV, 2 do
  if new[ARGV[at]] or redis.call('HEXISTS', facts, ARGV[at]) == 1 then
    return { 'written', ARGV[at] }
  end
  new[ARGV[at]] = true
end

-- This change may be what ends a run or a ticket, and so frees its ref.
local function is_freed(ref)
  local other, approval = held_ref(refs, ref)
  return other == id and (change.ends or new['t' .. approval])
end

local seen = {}
for _, taken in ipairs(change.refs) do
  if seen[taken[1]] or (in_use(place, refs, taken[1]) and not is_freed(taken[1])) then
    return { 'ref', taken[1] }
  end
  seen[taken[1]] = true
end

-- Nothing is written above, and nothing is refused below.

local after = before and copy(before) or { g = change.agent, o = change.owner, k = change.key, p = change.rank }
after.v, after.s, after.d = change.version, change.status, change.deadline
if not before then
  after.m = next_age(meta)
  redis.call('SADD', place .. 'agents', after.g)
end
local waits_on = before and before.s == 'waiting' and after.s == 'waiting'
if not before or (not waits_on and (change.frees or not before.w)) then
  after.a = digits(now)
end
if change.frees then
  after.w = nil
end
if change.fence then
  after.l = nil
end

local was, is = before and before.s == 'queued', after.s == 'queued'
local stays = was and is and before.a == after.a
if was and not stays then
  leave_queue(ready, holds, id, before)
end
if change.ends then
  free_key(ready, holds, id, after)
end
if is and not stays then
  enter_queue(ready, holds, id, after)
end

if not before or before.s ~= after.s then
  for _, name in ipairs({ ':a:' .. after.g, ':o:' .. after.o }) do
    if before then
      redis.call('ZREM', place .. 'is:' .. before.s .. name, id)
    end
    redis.call('ZADD', place .. 'is:' .. after.s .. name, after.m, id)
  end
end
if after.d then
  redis.call('ZADD', due, after.d, id)
elseif before and before.d then
  redis.call('ZREM', due, id)
end

write_row(run, before or {}, after)
redis.call('HSET', facts, 'b', ARGV[3])
redis.call('RPUSH', log, ARGV[4])
for at = 5, #ARGV, 2 do
  redis.call('HSET', facts, ARGV[at], ARGV[at + 1])
end
if asked then
  if asked.start then
    keep_start(facts, KEYS[10], asked.told, asked.start)
  else
    redis.call('HSET', facts, asked.name, asked.told)
  end
end
for _, taken in ipairs(change.refs) do
  take_ref(refs, facts, taken[1], taken[2])
end
for _, field in ipairs(change.raised) do
  raise_card(facts, behind, id, field, tonumber(change.version), now)
end

-- A run that its worker goes on with is news to nobody.
if not (is and after.w) or #change.raised > 0 then
  redis.call('PUBLISH', change.bell, change.ring)
end
return { 'done' }
