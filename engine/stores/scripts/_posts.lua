-- The messages that a card is shown as: the card's own, and further posts of it.
local function find_post(facts, field, duplicate)
  local card = read_card(facts, field)
  if not card or duplicate == '' then
    return card, field
  end
  for post = 1, card.posts do
    local further = read_card(facts, field .. post)
    if further.duplicate == duplicate then
      return further, field .. post
    end
  end
  return nil
end

-- Gives a message a row, unless it has one or is none; tells whether it was given one.
local function keep_message(keys, id, field, receipt, message, now)
  local version = redis.call('HGET', keys.run, 'v')
  if message == '' or not version then
    return false
  end
  local card = read_card(keys.facts, field)
  if not card then
    local made = new_card(keys.facts, tonumber(version), now, '', receipt, message)
    write_card(keys.facts, keys.behind, id, field, made)
    return true
  end
  if card.message == message then
    return false
  end
  local names = { [''] = true }
  for post = 1, card.posts do
    local further = read_card(keys.facts, field .. post)
    names[further.duplicate] = true
    if further.message == message then
      return false
    end
  end
  if card.message == '' then
    -- Behind from now on, whatever was shown before this message was known.
    card.receipt, card.message, card.shown = receipt, message, 0
    write_card(keys.facts, keys.behind, id, field, card)
    return true
  end
  local name = message
  if names[name] then
    -- The row of that name is of another message by now: that one was posted anew.
    name = name .. '#' .. (card.posts + 1)
  end
  card.posts = card.posts + 1
  write_card(keys.facts, keys.behind, id, field, card)
  local made = new_card(keys.facts, card.wanted, now, name, receipt, message)
  write_card(keys.facts, keys.behind, id, field .. card.posts, made)
  return true
end
