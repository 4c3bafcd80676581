-- Puts a run in as it was packed elsewhere.
-- KEYS: `meta`; `run`, `facts` and `log`; `ready`, `due`, `behind`, `refs` and `holds`; where the
-- records of the keys that it was started under are kept. ARGV: held clock, what the run is (JSON),
-- the lines of its log, the receipt of each card or '', then names and bodies of facts.
local meta, run, facts, log, ready, due, behind, refs, holds = unpack(KEYS, 1, 9)
local parcel = cjson.decode(ARGV[2])
local id, row = parcel.id, parcel.row
local place = string.gsub(meta, 'meta$', '')

if redis.call('HGET', meta, 'id') ~= parcel.store then
  return { 'stranger' }
end
local known = redis.call('HGET', run, 'v')
if known then
  return { 'there', known }
end
for at, started in ipairs(parcel.started) do
  if redis.call('EXISTS', KEYS[9 + at]) == 1 then
    return { 'key', started.key }
  end
end
local holder = parcel.holds and redis.call('HGET', holds, row.k)
if holder then
  return { 'held', holder }
end
for _, taken in ipairs(parcel.refs) do
  if in_use(place, refs, taken[1]) then
    return { 'ref', taken[1] }
  end
end

-- Nothing is written above, and nothing is refused below.

row.m = next_age(meta)
redis.call('SADD', place .. 'agents', row.g)
if parcel.holds then
  hold_key(ready, holds, id, row)
end
if row.s == 'queued' then
  enter_queue(ready, holds, id, row)
end
for _, name in ipairs({ ':a:' .. row.g, ':o:' .. row.o }) do
  redis.call('ZADD', place .. 'is:' .. row.s .. name, row.m, id)
end
if row.d then
  redis.call('ZADD', due, row.d, id)
end
write_row(run, {}, row)

local first_receipt = 3 + parcel.lines
local first_fact = first_receipt + #parcel.cards
for at = 3, first_receipt - 1 do
  redis.call('RPUSH', log, ARGV[at])
end
for at = first_fact, #ARGV, 2 do
  redis.call('HSET', facts, ARGV[at], ARGV[at + 1])
end
for at, started in ipairs(parcel.started) do
  keep_start(facts, KEYS[9 + at], started.told, started.named)
end
for _, taken in ipairs(parcel.refs) do
  take_ref(refs, facts, taken[1], taken[2])
end

local now = clock(ARGV[1])
for at, given in ipairs(parcel.cards) do
  local field, receipt = given.field, ARGV[first_receipt + at - 1]
  if given.duplicate ~= '' then
    local card = read_card(facts, field)
    card.posts = card.posts + 1
    write_card(facts, behind, id, field, card)
    field = field .. card.posts
  end
  local made = new_card(
    facts, given.wanted, now, given.duplicate, receipt ~= '' and receipt, given.message)
  made.shown, made.attempts, made.fence = given.shown, given.attempts, given.fence
  write_card(facts, behind, id, field, made)
end
redis.call('PUBLISH', parcel.bell, parcel.ring)
return { 'done' }
