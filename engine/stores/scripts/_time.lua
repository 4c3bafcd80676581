-- Moments are microseconds since 1970 (UTC), kept as sixteen digits so that they sort as text. A
-- Lua number holds them exactly.

-- The server's clock is the authority; a test may hold one of its own.
local function clock(held)
  if held ~= '' then
    return tonumber(held)
  end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function digits(moment)
  return string.format('%016.0f', moment)
end
