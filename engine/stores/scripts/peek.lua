-- Returns the run to claim next among some places: its queue member, version, fence and body.
-- KEYS: the `ready` of each place. ARGV: held clock, then id and version of runs to pass over.
local skipped = {}
for at = 2, #ARGV, 2 do
  skipped[ARGV[at] .. ' ' .. ARGV[at + 1]] = true
end
local now = digits(clock(ARGV[1]))

local function first_ready(ready, rank)
  local limit = '(' .. rank .. now .. '~'
  local from = '[' .. rank
  while true do
    local some = redis.call('ZRANGE', ready, from, limit, 'BYLEX', 'LIMIT', 0, 10)
    if #some == 0 then
      return nil
    end
    for _, stood in ipairs(some) do
      local run = string.gsub(ready, 'ready$', 'run:') .. id_of(stood)
      local version = redis.call('HGET', run, 'v')
      if not skipped[id_of(stood) .. ' ' .. version] then
        return stood
      end
      from = '(' .. stood
    end
  end
end

local best, where
for _, ready in ipairs(KEYS) do
  each_rank(ready, function(rank, first)
    if best and rank > string.sub(best, 1, 10) then
      return true
    end
    if string.sub(first, 11, 26) > now then
      return false
    end
    local found = first_ready(ready, rank)
    if found and (not best or found < best) then
      best, where = found, ready
    end
    return found ~= nil
  end)
end
if not best then
  return false
end
local place = string.gsub(where, 'ready$', '')
local row = read_row(place .. 'run:' .. id_of(best))
return { best, row.v, row.f or '0', redis.call('HGET', place .. 'facts:' .. id_of(best), 'b') }
