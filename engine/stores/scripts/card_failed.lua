-- Gives a card's lease back, if it still is this one. ARGV: id, field, duplicate, fence, retry at.
local facts, behind = unpack(KEYS)
local id, field = ARGV[1], ARGV[2]
local card, mine = find_post(facts, field, ARGV[3])
if card and card.courier and card.fence == tonumber(ARGV[4]) then
  card.courier, card.due = false, tonumber(ARGV[5])
  write_card(facts, behind, id, mine, card)
end
return 0
