-- The cards of a run: a hash with a row for each. The field names subject, role and notifier; the
-- rows of further posts have the field of the card and a number after it. `n` counts the rows ever
-- made. `behind` holds the cards that are behind, by the moment from which they may be taken.
local function read_card(cards, field)
  local packed = redis.call('HGET', cards, field)
  if not packed then
    return nil
  end
  local row = cmsgpack.unpack(packed)
  return {
    number = row[1], posts = row[2], wanted = row[3], shown = row[4], due = row[5],
    attempts = row[6], fence = row[7], courier = row[8], duplicate = row[9], receipt = row[10],
  }
end

local function write_card(cards, behind, id, field, card)
  local packed = cmsgpack.pack({
    card.number, card.posts, card.wanted, card.shown, card.due,
    card.attempts, card.fence, card.courier, card.duplicate, card.receipt,
  })
  redis.call('HSET', cards, field, packed)
  local name = id .. ' ' .. field
  if card.wanted > card.shown then
    redis.call('ZADD', behind, digits(card.due), name)
  else
    redis.call('ZREM', behind, name)
  end
end

local function new_card(cards, wanted, now, duplicate, receipt)
  return {
    number = redis.call('HINCRBY', cards, 'n', 1), posts = 0, wanted = wanted, shown = 0,
    due = now, attempts = 0, fence = 0, courier = false, duplicate = duplicate, receipt = receipt,
  }
end

-- Raising touches the wanted version only: never a lease or a back-off.
local function raise_card(cards, behind, id, field, wanted, now)
  local card = read_card(cards, field)
  if not card then
    write_card(cards, behind, id, field, new_card(cards, wanted, now, '', false))
    return
  end
  card.wanted = wanted
  write_card(cards, behind, id, field, card)
  for post = 1, card.posts do
    local further = read_card(cards, field .. post)
    further.wanted = wanted
    write_card(cards, behind, id, field .. post, further)
  end
end

-- A card as the client reads it.
local function told_card(id, field, card)
  return {
    id, field, card.number, card.duplicate, card.wanted, card.shown, card.attempts, card.fence,
    card.receipt,
  }
end

local function is_behind(cards)
  for _, field in ipairs(redis.call('HKEYS', cards)) do
    local card = field ~= 'n' and read_card(cards, field)
    if card and card.wanted > card.shown then
      return true
    end
  end
  return false
end
