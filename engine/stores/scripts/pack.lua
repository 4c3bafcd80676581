-- Returns all of a run at one moment: 'absent', or 'claimed' and the worker of a live claim, or '',
-- then the row, 1 if it holds its concurrency key, the facts, the lines of the log, what its refs
-- point at, the records of the keys that it was started under, and its cards.
-- KEYS: `run`, `facts` and `log`, `holds` and `refs`. ARGV: held clock, id.
local run, facts, log, holds, refs = unpack(KEYS)
local id = ARGV[2]
local row = read_row(run)
if not row then
  return { 'absent' }
end
if row.w and tonumber(row.a) > clock(ARGV[1]) then
  return { 'claimed', row.w }
end

local plain, named, started, cards = {}, {}, {}, {}
local flat = redis.call('HGETALL', facts)
for at = 1, #flat, 2 do
  local name, told = flat[at], flat[at + 1]
  local kind, rest = string.sub(name, 1, 1), string.sub(name, 2)
  if kind == 'f' then
    local other, approval = held_ref(refs, rest)
    if other == id then
      named[#named + 1] = { rest, approval }
    end
  elseif kind == 's' then
    started[#started + 1] = { told, redis.call('GET', rest) }
  elseif kind == 'c' then
    cards[#cards + 1] = told_card(id, name, read_card(facts, name))
  else
    plain[#plain + 1] = { name, told }
  end
end
local holding = row.k and redis.call('HGET', holds, row.k) == id
return {
  '', { row.a, row.f or '0', row.l or '0', row.w and 1 or 0, holding and 1 or 0 }, plain,
  redis.call('LRANGE', log, 0, -1), named, started, cards,
}
