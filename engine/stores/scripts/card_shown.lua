-- Records what a card shows; tells whether it, or another post of it, is behind now.
-- ARGV: held clock, id, field, duplicate, fence, version, receipt, the message it names or '', the
-- message the courier knew of or '', bell, ring.
local keys = { run = KEYS[1], facts = KEYS[2], behind = KEYS[3] }
local id, field, version = ARGV[2], ARGV[3], tonumber(ARGV[6])
local receipt, message = ARGV[7], ARGV[8]
local now = clock(ARGV[1])

local function show()
  local card, mine = find_post(keys.facts, field, ARGV[4])
  if not card then
    return false
  end
  if card.fence ~= tonumber(ARGV[5]) then
    return keep_message(keys, id, field, receipt, message, now)
  end
  local receipt_before, message_before = card.receipt, card.message
  card.shown = math.max(card.shown, version)
  card.due, card.attempts, card.courier = now, 0, false
  -- A notifier with nothing to add does not make the message that is there go away.
  if message ~= '' or not card.receipt then
    card.receipt, card.message = receipt, message
  end
  write_card(keys.facts, keys.behind, id, mine, card)
  -- A message that became known while this one was being posted has lost its row.
  local displaced = message_before ~= ARGV[9]
    and keep_message(keys, id, field, receipt_before, message_before, now)
  return displaced or version < card.wanted
end

if show() then
  redis.call('PUBLISH', ARGV[10], ARGV[11])
  return 1
end
return 0
