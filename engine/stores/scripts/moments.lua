-- Returns for each of some places the clock, the earliest moment from which a run is ready (or ''),
-- the earliest of those to come (or ''), then deadline, id and version of the first deadlines, then
-- moment, name and wanted version of the first cards behind.
-- KEYS: `ready`, `due` and `behind` of each place. ARGV: held clock, how many of each.
local now = digits(clock(ARGV[1]))
local last = tonumber(ARGV[2]) - 1
local found = {}
for at = 1, #KEYS, 3 do
  local ready, due, behind = KEYS[at], KEYS[at + 1], KEYS[at + 2]
  local place = string.gsub(due, 'due$', '')
  local open, wake = '', ''
  each_rank(ready, function(rank, best)
    local moment = string.sub(best, 11, 26)
    if open == '' or moment < open then
      open = moment
    end
    local from, to = '(' .. rank .. now .. '~', '(' .. rank .. '~'
    local first = redis.call('ZRANGE', ready, from, to, 'BYLEX', 'LIMIT', 0, 1)[1]
    moment = first and string.sub(first, 11, 26)
    if moment and (wake == '' or moment < wake) then
      wake = moment
    end
    return false
  end)
  local deadlines, cards = {}, {}
  local late = redis.call('ZRANGE', due, 0, last, 'WITHSCORES')
  for one = 1, #late, 2 do
    local version = redis.call('HGET', place .. 'run:' .. late[one], 'v')
    deadlines[#deadlines + 1] = { digits(tonumber(late[one + 1])), late[one], version }
  end
  local old = redis.call('ZRANGE', behind, 0, last, 'WITHSCORES')
  for one = 1, #old, 2 do
    local id, field = string.match(old[one], '^(%S+) (.*)$')
    local card = read_card(place .. 'facts:' .. id, field)
    cards[#cards + 1] = { digits(tonumber(old[one + 1])), old[one], card.wanted }
  end
  found[#found + 1] = { now, open, wake, deadlines, cards }
end
return found
