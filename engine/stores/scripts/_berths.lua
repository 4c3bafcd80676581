-- Asks: those that have a berth, and those that wait for one. `rows` holds each by its approval;
-- `counts` how many count for a name, `o` with a berth and `w` waiting, and `#`, the last number.
-- `known`, `waiting` and `called` hold approvals by their number. The waiting ones stand in a line
-- for each kind (what they are within), and `lines` holds the kinds by the number of their first.
local rows, counts, known, waiting, called, lines = unpack(KEYS, 1, 6)
local line_of = string.gsub(rows, 'rows$', 'line:')

local function read_ask(approval)
  local row = redis.call('HGET', rows, approval)
  return row and cjson.decode(row)
end

local function write_ask(ask)
  redis.call('HSET', rows, ask.approval, cjson.encode(ask))
end

local function count_of(field)
  return tonumber(redis.call('HGET', counts, field) or 0)
end

local function names_of(ask)
  local names = cjson.decode(ask.told)
  for _, one in ipairs(cjson.decode(ask.within)) do
    names[#names + 1] = one[1]
  end
  return names
end

local function add(ask, kind, step)
  for _, name in ipairs(names_of(ask)) do
    local count = count_of(kind .. name) + step
    if count == 0 then
      redis.call('HDEL', counts, kind .. name)
    else
      redis.call('HSET', counts, kind .. name, count)
    end
  end
end

-- Where there is no room for what is within this; nil if there is room everywhere. Empty: only the
-- last room that the head of all waits for.
local function lacking(within, head)
  local full, needs, last = {}, {}, false
  for _, one in ipairs(head and cjson.decode(head) or {}) do
    needs[one[1]] = one[2]
  end
  for _, one in ipairs(cjson.decode(within)) do
    local open = count_of('o' .. one[1])
    if open >= one[2] then
      full[#full + 1] = one[1]
    end
    last = last or open + 1 == needs[one[1]]
  end
  return (#full > 0 or last) and full or nil
end

local function head_of_all()
  local first = redis.call('ZRANGE', waiting, 0, 0)[1]
  return first and read_ask(first).within
end

local function show_line(within)
  local first = redis.call('ZRANGE', line_of .. within, 0, 0, 'WITHSCORES')
  if first[1] then
    redis.call('ZADD', lines, first[2], within)
  else
    redis.call('ZREM', lines, within)
  end
end

local function enter(ask, state)
  ask.state = state
  if state == 'waiting' then
    redis.call('ZADD', waiting, ask.number, ask.approval)
    redis.call('ZADD', line_of .. ask.within, ask.number, ask.approval)
    show_line(ask.within)
    add(ask, 'w', 1)
  else
    add(ask, 'o', 1)
  end
  if state == 'called' then
    redis.call('ZADD', called, ask.number, ask.approval)
  end
  write_ask(ask)
end

local function quit(ask)
  if ask.state == 'waiting' then
    redis.call('ZREM', waiting, ask.approval)
    redis.call('ZREM', line_of .. ask.within, ask.approval)
    show_line(ask.within)
    add(ask, 'w', -1)
  else
    add(ask, 'o', -1)
  end
  if ask.state == 'called' then
    redis.call('ZREM', called, ask.approval)
  end
end

local function put(told, state, since)
  local number = count_of('#') + 1
  redis.call('HSET', counts, '#', number)
  redis.call('ZADD', known, number, told.approval)
  enter({
    number = number, approval = told.approval, run = told.run, since = since,
    within = told.within, told = told.told, full = told.full or '[]', news = told.news or '[]',
  }, state)
end

-- The first of each kind: the others of its kind have no room where it has none.
local function call_next()
  local heads = redis.call('ZRANGE', lines, 0, -1)
  for at, within in ipairs(heads) do
    if not lacking(within, at > 1 and heads[1] or nil) then
      local ask = read_ask(redis.call('ZRANGE', line_of .. within, 0, 0)[1])
      quit(ask)
      enter(ask, 'called')
      return true
    end
  end
  return false
end

-- Calls whoever has room now, in the order in which they came; tells whether anybody has.
local function call_all()
  local any = false
  while call_next() do
    any = true
  end
  return any
end
