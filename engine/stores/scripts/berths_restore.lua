-- Makes up for what was lost: the first asks have a berth, the others wait or are called. Returns the
-- approvals that were not known. ARGV: held clock, the bell, how we ring it, asks that are open and
-- asks that are held back (JSON).
local since = digits(clock(ARGV[1]))
local unknown = {}
for _, told in ipairs(cjson.decode(ARGV[4])) do
  local ask = read_ask(told.approval)
  if not ask then
    unknown[#unknown + 1] = told.approval
    put(told, 'open', since)
  elseif ask.state ~= 'open' then
    quit(ask)
    enter(ask, 'open')
  end
end
for _, told in ipairs(cjson.decode(ARGV[5])) do
  local ask = read_ask(told.approval)
  if not ask then
    unknown[#unknown + 1] = told.approval
    put(told, 'waiting', since)
  elseif ask.state == 'open' then
    quit(ask)
    enter(ask, 'called')
  end
end
call_all()
if redis.call('ZCARD', called) > 0 then
  redis.call('PUBLISH', ARGV[2], ARGV[3])
end
return unknown
