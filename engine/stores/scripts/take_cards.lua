-- Leases cards of one place that are still behind and due; returns their rows as a courier is given
-- them.
-- KEYS: `behind`, then the `facts` of each. ARGV: held clock, lease, courier, then id and field of
-- each.
local behind = KEYS[1]
local now = clock(ARGV[1])
local found = {}
for at = 2, #KEYS do
  local id, field = ARGV[at * 2], ARGV[at * 2 + 1]
  local card = read_card(KEYS[at], field)
  if card and card.wanted > card.shown and card.due <= now then
    card.fence = card.fence + 1
    card.courier = ARGV[3]
    card.due = now + tonumber(ARGV[2])
    found[#found + 1] = told_card(id, field, card)
    card.attempts = card.attempts + 1
    write_card(KEYS[at], behind, id, field, card)
  end
end
return found
