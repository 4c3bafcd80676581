-- Messages of a card. A receipt is text of the client's; here only its place, id and shown matter.
local function opened(receipt)
  return receipt and cjson.decode(receipt) or false
end

local function same_message(one, other)
  if not one or not other then
    return one == other
  end
  return one.place == other.place and one.id == other.id
end

local function find_post(cards, field, duplicate)
  local card = read_card(cards, field)
  if not card or duplicate == '' then
    return card, field
  end
  for post = 1, card.posts do
    local further = read_card(cards, field .. post)
    if further.duplicate == duplicate then
      return further, field .. post
    end
  end
  return nil
end

-- Gives a message a row, unless it has one or is none; tells whether it was given one.
local function keep_message(keys, id, field, receipt, now)
  local message = opened(receipt)
  local version = redis.call('HGET', keys.run, 'v')
  if not message or not message.shown or not version then
    return false
  end
  local card = read_card(keys.cards, field)
  if not card then
    local made = new_card(keys.cards, tonumber(version), now, '', receipt)
    write_card(keys.cards, keys.behind, id, field, made)
    return true
  end
  local known = opened(card.receipt)
  local names = { [''] = true }
  if same_message(known, message) then
    return false
  end
  for post = 1, card.posts do
    local further = read_card(keys.cards, field .. post)
    names[further.duplicate] = true
    if same_message(opened(further.receipt), message) then
      return false
    end
  end
  if not known or not known.shown then
    -- Behind from now on, whatever was shown before this message was known.
    card.receipt, card.shown = receipt, 0
    write_card(keys.cards, keys.behind, id, field, card)
    return true
  end
  local name = message.place .. '/' .. message.id
  if names[name] then
    -- The row of that name is of another message by now: that one was posted anew.
    name = name .. '#' .. (card.posts + 1)
  end
  card.posts = card.posts + 1
  write_card(keys.cards, keys.behind, id, field, card)
  local made = new_card(keys.cards, card.wanted, now, name, receipt)
  write_card(keys.cards, keys.behind, id, field .. card.posts, made)
  return true
end
