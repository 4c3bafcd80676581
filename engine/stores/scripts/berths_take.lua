-- Gives each ask a berth, or a place in the line; one that is known stays as it is. Returns approval,
-- where it was full and what is news (JSON) of those that wait. ARGV: held clock, the asks (JSON).
local since = digits(clock(ARGV[1]))
local held = {}
for _, told in ipairs(cjson.decode(ARGV[2])) do
  local ask = read_ask(told.approval)
  if not ask then
    local full = lacking(told.within, head_of_all())
    if full then
      local news = {}
      for _, name in ipairs(cjson.decode(told.told)) do
        if count_of('w' .. name) == 0 then
          news[#news + 1] = name
        end
      end
      told.full, told.news = cjson.encode(full), cjson.encode(news)
    end
    put(told, full and 'waiting' or 'open', since)
    ask = read_ask(told.approval)
  end
  if ask.state == 'waiting' then
    held[#held + 1] = { ask.approval, ask.full, ask.news }
  end
end
return held
