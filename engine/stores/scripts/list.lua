-- Walks some indexes of runs, newest first, and returns version, age, id and body of the newest that
-- are wanted. An age is the moment a run was made and its place: no two runs have the same.
-- KEYS: the indexes, without the name of an agent or owner. ARGV: held clock, the age to begin below or '', limit, agent or '', owner or '',
-- claimed: 'yes', 'no' or ''.
local cursor, limit, agent, owner, claimed = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local now = clock(ARGV[1])
local latest = cursor ~= '' and string.sub(cursor, 1, 16) or '+inf'

local function wanted(row, age)
  if (cursor ~= '' and age >= cursor) or (agent ~= '' and row.g ~= agent) then
    return false
  end
  if owner ~= '' and row.o ~= owner then
    return false
  end
  local live = row.w ~= nil and tonumber(row.a) > now
  return claimed == '' or (claimed == 'yes') == live
end

local found = {}
local function walk(index)
  local tag = string.match(index, '^{hs:.}')
  local passed, count = 0, 0
  while true do
    local some = redis.call('ZRANGE', index, latest, '-inf', 'BYSCORE', 'REV', 'LIMIT', passed, limit)
    for _, id in ipairs(some) do
      local row = read_row(tag .. ':run:' .. id)
      local age = row.m .. string.sub(tag, 5, 5)
      if wanted(row, age) then
        found[#found + 1] = { row.v, age, id, tag }
        count = count + 1
      end
      if count == limit then
        return
      end
    end
    if #some < limit then
      return
    end
    passed = passed + limit
  end
end

for _, index in ipairs(KEYS) do
  if agent ~= '' then
    walk(index .. ':a:' .. agent)
  elseif owner ~= '' then
    walk(index .. ':o:' .. owner)
  else
    -- Agents are few: an index of all runs would cost more than it saves.
    for _, one in ipairs(redis.call('SMEMBERS', string.match(index, '^{hs:.}') .. ':agents')) do
      walk(index .. ':a:' .. one)
    end
  end
end
table.sort(found, function(one, other)
  return one[2] > other[2]
end)
local newest = {}
for at = 1, math.min(limit, #found) do
  local version, age, id, tag = unpack(found[at])
  newest[at] = { version, age, id, redis.call('HGET', tag .. ':facts:' .. id, 'b') }
end
return newest
