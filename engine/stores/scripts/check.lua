-- Returns the identities of some places. It writes nothing, and is not marked as a script that only
-- reads: so a server that would take no change refuses it. KEYS: the `meta` of each place.
local found = {}
for _, meta in ipairs(KEYS) do
  found[#found + 1] = redis.call('HGET', meta, 'id') or ''
end
return found
