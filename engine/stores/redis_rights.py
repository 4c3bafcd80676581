"""What a user of the server must be allowed, and whether this one is.

A right that is missing would be noticed by a script only when it gets there, after it has written:
scripts do not roll back. So the server is asked at the start (``redis.acl_check_cmd``, since Redis
7.0), in every place, because each node of a Cluster has users of its own.
"""

from typing import Any, Protocol

from engine.stores.keys import BERTHS, CHANNEL, EVERYWHERE, RULES

ON_KEYS = (
    *("EVAL", "EVALSHA", "EXISTS", "GET", "HDEL", "HEXISTS", "HGET", "HGETALL", "HKEYS", "HLEN"),
    *("HMGET", "HSET", "LINDEX", "LRANGE", "RPUSH", "SADD", "SET", "SMEMBERS", "UNLINK", "ZADD"),
    *("ZCARD", "ZCOUNT", "ZRANGE", "ZREM", "ZSCORE"),
)
"""The commands on keys, in scripts and plain."""
ON_CHANNEL = ("PUBLISH", "SUBSCRIBE")
ALONE = ("TIME", "PING", "WAIT")

_ASK = """#!lua flags=no-writes
local missing = {}
local function need(name, ...)
  if not redis.acl_check_cmd(...) then
    table.insert(missing, '+' .. string.lower(name))
  end
end
for name in string.gmatch(ARGV[1], '%S+') do
  if string.sub(name, 1, 4) == 'EVAL' then
    need(name, name, '', 1, KEYS[1])
  else
    need(name, name, KEYS[1])
  end
end
for name in string.gmatch(ARGV[2], '%S+') do
  need(name, name, ARGV[4])
end
for name in string.gmatch(ARGV[3], '%S+') do
  need(name, name)
end
return missing
"""


class Client(Protocol):
    """What is used of redis-py's asyncio clients."""

    async def execute_command(self, *command: Any, **options: Any) -> Any:  # noqa: ANN401 - redis-py's
        """Send a command; return its reply."""
        ...


async def missing_rights(client: Client) -> tuple[str, ...]:
    """Return the rights that the user lacks, as an ACL rule names them; writes nothing.

    A right on a command is missing too where it does not reach the store's keys or channel.
    """
    needed = [" ".join(names) for names in (ON_KEYS, ON_CHANNEL, ALONE)]
    missing: set[bytes] = set()
    for place in (*EVERYWHERE, BERTHS, RULES):
        key = place.key("meta")
        missing |= set(await client.execute_command("EVAL", _ASK, 1, key, *needed, CHANNEL))
    return tuple(sorted(one.decode() for one in missing))
