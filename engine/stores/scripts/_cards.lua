-- The cards of a run are among its facts, a row for each. The field is `c` with subject, role and
-- notifier; the rows of further posts have the field of the card and a number after it. `behind`
-- holds the cards that are behind, by the moment from which they may be taken.
-- A receipt is of the client's making, but for the message that it names, which stands beside it as
-- place/id, or '' where there is none.
local function read_card(facts, field)
  local packed = redis.call('HGET', facts, field)
  if not packed then
    return nil
  end
  local row = cmsgpack.unpack(packed)
  return {
    number = row[1], posts = row[2], wanted = row[3], shown = row[4], due = row[5],
    attempts = row[6], fence = row[7], courier = row[8], duplicate = row[9], receipt = row[10],
    message = row[11],
  }
end

local function write_card(facts, behind, id, field, card)
  local packed = cmsgpack.pack({
    card.number, card.posts, card.wanted, card.shown, card.due,
    card.attempts, card.fence, card.courier, card.duplicate, card.receipt, card.message,
  })
  redis.call('HSET', facts, field, packed)
  local name = id .. ' ' .. field
  if card.wanted > card.shown then
    redis.call('ZADD', behind, digits(card.due), name)
  else
    redis.call('ZREM', behind, name)
  end
end

-- The number is greater than any that a card of the run has: facts only ever grow.
local function new_card(facts, wanted, now, duplicate, receipt, message)
  return {
    number = redis.call('HLEN', facts), posts = 0, wanted = wanted, shown = 0, due = now,
    attempts = 0, fence = 0, courier = false, duplicate = duplicate, receipt = receipt,
    message = message,
  }
end

-- Raising touches the wanted version only: never a lease or a back-off.
local function raise_card(facts, behind, id, field, wanted, now)
  local card = read_card(facts, field)
  if not card then
    write_card(facts, behind, id, field, new_card(facts, wanted, now, '', false, ''))
    return
  end
  card.wanted = wanted
  write_card(facts, behind, id, field, card)
  for post = 1, card.posts do
    local further = read_card(facts, field .. post)
    further.wanted = wanted
    write_card(facts, behind, id, field .. post, further)
  end
end

-- A card as the client reads it.
local function told_card(id, field, card)
  return {
    id, field, card.number, card.duplicate, card.wanted, card.shown, card.attempts, card.fence,
    card.receipt, card.message,
  }
end

local function is_behind(facts)
  for _, field in ipairs(redis.call('HKEYS', facts)) do
    local card = string.match(field, '^c') and read_card(facts, field)
    if card and card.wanted > card.shown then
      return true
    end
  end
  return false
end
