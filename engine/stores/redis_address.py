"""Where a Redis store is: the URL, read and checked. Pure: nothing is opened, redis is not imported.

Forms (``rediss`` for ``redis`` means TLS)::

    redis://[user[:password]@]host[:port][/db]
    unix://[user[:password]@]/path/to/socket[?db=0]
    redis+sentinel://[user[:password]@]host[:port][,host[:port]...]/service[/db]
    redis+cluster://[user[:password]@]host[:port][,host[:port]...]

User, password and service are percent-encoded where they hold ``@ : / ? # %``. After a ``?``:
``ssl_ca_certs``, ``ssl_certfile``, ``ssl_keyfile`` (paths) and ``ssl_check_hostname=no`` with TLS;
``sentinel_username`` and ``sentinel_password`` where the Sentinels ask for their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from engine.errors import ConfigurationError

REDIS_PORT = 6379
SENTINEL_PORT = 26379
_LAST_PORT = 65_535
_LAST_DB = 1_000_000
_FORMS = (
    "redis://host:port/db, rediss://host:port/db, unix:///path/to/socket,"
    " redis+sentinel://host:port,host:port/service/db or redis+cluster://host:port,host:port"
)
_ENCODE = "percent-encode any of @ : / ? # % in user and password"


class Topology(StrEnum):
    """How the servers stand together; the value is the URL's scheme without TLS."""

    SINGLE = "redis"
    SOCKET = "unix"
    SENTINEL = "redis+sentinel"
    CLUSTER = "redis+cluster"


@dataclass(frozen=True, slots=True)
class Node:
    """A host and its port."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return it as in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Login:
    """An ACL user and password; empty strings for none. No repr shows the password."""

    username: str = ""
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Tls:
    """How the connection is secured; certificates are always verified.

    Attributes:
        ca: File of the authorities to trust; the system's if empty.
        certificate: Our own certificate's file, where the server asks for one.
        key: The file of its key.
        check_hostname: Off where servers go by addresses that no certificate names.

    """

    ca: str = ""
    certificate: str = ""
    key: str = ""
    check_hostname: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """What the path of the URL says: socket, service or database, as the topology has them."""

    socket: str = ""
    service: str = ""
    db: int = 0


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """Where the servers are and how to log in. ``str`` and ``repr`` hide every password."""

    topology: Topology
    nodes: tuple[Node, ...] = ()
    place: Place = Place()
    login: Login = Login()
    sentinel_login: Login = Login()
    tls: Tls | None = None

    def __str__(self) -> str:
        """Return the address for logs, without passwords and parameters."""
        scheme = self.topology.value
        if self.tls is not None:
            scheme = scheme.replace("redis", "rediss", 1)
        return f"{scheme}://{self._user()}{','.join(map(str, self.nodes))}{self._path()}"

    def __repr__(self) -> str:
        """Return the same, marked as what it is."""
        return f"RedisAddress({str(self)!r})"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the passwords, so that logs can mask them."""
        return tuple(filter(None, (self.login.password, self.sentinel_login.password)))

    def _user(self) -> str:
        login = self.login
        if login == Login():
            return ""
        return quote(login.username, safe="") + (":***" if login.password else "") + "@"

    def _path(self) -> str:
        place = self.place
        if self.topology is Topology.SOCKET:
            return quote(place.socket) + (f"?db={place.db}" if place.db else "")
        service = f"/{quote(place.service, safe='')}" if place.service else ""
        return service + (f"/{place.db}" if place.db else "")


def read_address(url: str) -> RedisAddress:
    """Return what a URL says.

    Raises:
        ConfigurationError: it is none of the forms above. The text repeats no part of the URL:
            any part of one that is malformed may be a part of its password.

    """
    topology, secured, rest = _read_scheme(url)
    try:
        parts = urlsplit(f"//{rest}")
    except ValueError:
        raise _malformed("its hosts cannot be read: write an IPv6 address in brackets") from None
    if parts.fragment or rest.endswith("#"):
        raise _malformed(f"holds a '#': {_ENCODE}")
    userinfo, _, hosts = parts.netloc.rpartition("@")
    given = _read_parameters(parts, topology, secured=secured)
    return RedisAddress(
        topology=topology,
        nodes=_read_nodes(hosts, topology),
        place=_read_place(parts.path, given, topology),
        login=_read_login(userinfo),
        sentinel_login=Login(
            given.get("sentinel_username", ""), given.get("sentinel_password", "")
        ),
        tls=_read_tls(given) if secured else None,
    )


def _malformed(why: str) -> ConfigurationError:
    return ConfigurationError(f"is no address of a Redis store: {why}")


def _read_scheme(url: str) -> tuple[Topology, bool, str]:
    scheme, separator, rest = url.partition("://")
    plain = scheme.lower().replace("rediss", "redis", 1)
    if not separator or plain not in list(Topology):
        raise _malformed(f"use {_FORMS}")
    return Topology(plain), plain != scheme.lower(), rest


def _read_login(userinfo: str) -> Login:
    username, _, password = userinfo.partition(":")
    if ":" in password:
        raise _malformed(f"has more than one ':' before the '@': {_ENCODE}")
    return Login(_decode(username), _decode(password))


def _decode(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise _malformed("is percent-encoded, but not as UTF-8") from None


def _read_nodes(hosts: str, topology: Topology) -> tuple[Node, ...]:
    if topology is Topology.SOCKET:
        if hosts:
            raise _malformed("a unix:// address names no host: it has three slashes")
        return ()
    port = SENTINEL_PORT if topology is Topology.SENTINEL else REDIS_PORT
    nodes = tuple(_read_node(one, port) for one in hosts.split(","))
    if topology is Topology.SINGLE and len(nodes) > 1:
        raise _malformed("names several hosts: use redis+sentinel:// or redis+cluster://")
    if len(set(nodes)) < len(nodes):
        raise _malformed("names a host twice")
    return nodes


def _read_node(text: str, default: int) -> Node:
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        _check_ipv6(host)
        after, port = (rest[:1], rest[1:]) if rest else (":", str(default))
    else:
        host, colon, port = text.partition(":")
        after, port = (":", port) if colon else (":", str(default))
    if not host:
        raise _malformed("names no host, or an empty one")
    if after != ":" or not _is_number(port, 1, _LAST_PORT):
        raise _malformed(f"has a port that is no number from 1 to {_LAST_PORT}; or {_ENCODE}")
    return Node(host, int(port))


def _check_ipv6(host: str) -> None:
    try:
        IPv6Address(host)
    except AddressValueError:
        raise _malformed("has brackets around what is no IPv6 address") from None


def _is_number(text: str, first: int, last: int) -> bool:
    return text.isascii() and text.isdecimal() and first <= int(text) <= last


def _read_place(path: str, given: Mapping[str, str], topology: Topology) -> Place:
    if topology is Topology.SOCKET:
        if path in {"", "/"}:
            raise _malformed("names no socket: write unix:///path/to/socket")
        return Place(socket=_decode(path), db=_read_db(given.get("db", "0")))
    first, *more = path.removeprefix("/").split("/")
    match topology:
        case Topology.SINGLE if not more:
            return Place(db=_read_db(first or "0"))
        case Topology.SENTINEL if first and len(more) < 2:  # noqa: PLR2004 - service and database
            return Place(service=_decode(first), db=_read_db((more or ["0"])[0] or "0"))
        case Topology.SENTINEL if not first:
            raise _malformed("names no service: write the master's name after the hosts, /service")
        case Topology.CLUSTER if path in {"", "/", "/0"}:
            return Place()
        case Topology.CLUSTER:
            raise _malformed("names a database: a Cluster has only database 0, so leave it out")
    raise _malformed("has more parts in its path than a database")


def _read_db(text: str) -> int:
    if not _is_number(text, 0, _LAST_DB):
        raise _malformed("has a database that is no number from 0 on")
    return int(text)


def _read_parameters(parts: SplitResult, topology: Topology, *, secured: bool) -> dict[str, str]:
    known = {Topology.SOCKET: ["db"], Topology.SENTINEL: ["sentinel_username", "sentinel_password"]}
    allowed = known.get(topology, [])
    if secured:
        allowed = [*allowed, "ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname"]
    try:
        pairs = parse_qsl(
            parts.query, keep_blank_values=True, strict_parsing=bool(parts.query), errors="strict"
        )
    except ValueError:
        raise _malformed(f"has parameters that cannot be read: {_ENCODE}") from None
    given = dict(pairs)
    if len(given) < len(pairs):
        raise _malformed("has a parameter twice")
    if not given.keys() <= set(allowed):
        listed = ", ".join(allowed) or "none"
        raise _malformed(f"has a parameter that this form does not take (it takes: {listed})")
    return given


def _read_tls(given: Mapping[str, str]) -> Tls:
    check = given.get("ssl_check_hostname", "yes").lower()
    if check not in {"yes", "true", "no", "false"}:
        raise _malformed("has an ssl_check_hostname that is neither yes nor no")
    certificate, key = given.get("ssl_certfile", ""), given.get("ssl_keyfile", "")
    if key and not certificate:
        raise _malformed("has an ssl_keyfile without its ssl_certfile")
    return Tls(given.get("ssl_ca_certs", ""), certificate, key, check in {"yes", "true"})
