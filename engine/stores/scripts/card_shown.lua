-- Records what a card shows; tells whether it, or another post of it, is behind now.
-- ARGV: held clock, id, field, duplicate, fence, version, receipt, the receipt the courier saw or
-- '', bell, ring.
local keys = { run = KEYS[1], cards = KEYS[2], behind = KEYS[3] }
local id, field, version, receipt = ARGV[2], ARGV[3], tonumber(ARGV[6]), ARGV[7]
local now = clock(ARGV[1])

local function show()
  local card, mine = find_post(keys.cards, field, ARGV[4])
  if not card then
    return false
  end
  if card.fence ~= tonumber(ARGV[5]) then
    return keep_message(keys, id, field, receipt, now)
  end
  local before = card.receipt
  card.shown = math.max(card.shown, version)
  card.due, card.attempts, card.courier = now, 0, false
  -- A notifier with nothing to add does not make the message that is there go away.
  if not before or opened(receipt).shown then
    card.receipt = receipt
  end
  write_card(keys.cards, keys.behind, id, mine, card)
  -- A message that became known while this one was being posted has lost its row.
  local seen = ARGV[8] ~= '' and ARGV[8]
  local displaced = before and not same_message(opened(before), opened(seen))
  displaced = displaced and keep_message(keys, id, field, before, now)
  return displaced or version < card.wanted
end

if show() then
  redis.call('PUBLISH', ARGV[9], ARGV[10])
  return 1
end
return 0
