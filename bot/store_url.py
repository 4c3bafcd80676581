"""The forms of HOLDSHORT_STORE_URL."""

from pathlib import Path

from engine.errors import ConfigurationError
from engine.stores.redis_address import RedisAddress, Topology, read_address

_MEMORY = "memory:"
_SQLITE = "sqlite:///"
_SERVERS = frozenset({*Topology, "rediss", "rediss+sentinel", "rediss+cluster"})
_FORMS = (
    "sqlite:////absolute/path, sqlite:///relative/path, memory:, redis://host:port/db,"
    " unix:///path/to/socket, redis+sentinel://... or redis+cluster://..."
)

Place = Path | RedisAddress | None


def read_store_url(url: str) -> Place:
    """Return the database file, or the address of the servers; None for a store in memory.

    Raises:
        ValueError: it is none of the forms. The text repeats at most the scheme.

    """
    if url == _MEMORY:
        return None
    if url.startswith(_SQLITE) and len(url) > len(_SQLITE):
        return Path(url.removeprefix(_SQLITE))
    scheme = url.partition(":")[0] if ":" in url else "no scheme"
    if scheme.lower() not in _SERVERS:
        raise ValueError(f"has {scheme!r}, which is no store of this version: use {_FORMS}")
    try:
        return read_address(url)
    except ConfigurationError as error:
        raise ValueError(str(error)) from None
