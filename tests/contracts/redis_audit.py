"""Recomputes every index of a Redis store from the runs, and compares."""

import json
from collections import defaultdict
from typing import Any

import redis

from engine.stores.keys import BERTHS, EVERYWHERE, Place
from tests.servers.cluster import Cluster
from tests.servers.process import ServerProcess

Index = dict[str, dict[str, float]]


class Audit:
    """Reads a whole store, key by key, without any of its scripts."""

    def __init__(self, server: ServerProcess | Cluster) -> None:
        # redis-py types every answer as text or bytes, whichever was asked for.
        self._client: Any = _connect(server, decode_responses=True)
        self._raw: Any = _connect(server, decode_responses=False)

    def close(self) -> None:
        self._client.close()
        self._raw.close()

    def found(self) -> Index:
        """Return every index as it is."""
        names = [
            name for name in self._client.scan_iter(count=1000) if self._client.type(name) == "zset"
        ]
        return {name: dict(self._client.zrange(name, 0, -1, withscores=True)) for name in names}

    def expected(self) -> Index:
        """Return every index as the runs and cards would have it."""
        indexes: Index = defaultdict(dict)
        for place in EVERYWHERE:
            rows = self._rows(place)
            for run, row in rows.items():
                self._add_run(indexes, place, run, row)
            self._add_queue(indexes, place, rows)
            for run in rows:
                self._add_cards(indexes, place, run)
        self._add_berths(indexes)
        return {name: members for name, members in indexes.items() if members}

    def _rows(self, place: Place) -> dict[str, dict[str, str]]:
        prefix = place.key("run", "")
        names = self._client.scan_iter(f"{prefix}*", count=1000)
        return {name.removeprefix(prefix): self._client.hgetall(name) for name in names}

    def _add_run(self, indexes: Index, place: Place, run: str, row: dict[str, str]) -> None:
        for name in (f":a:{row['g']}", f":o:{row['o']}"):
            indexes[place.key("is", row["s"] + name)][run] = float(row["m"])
        standing = {"queued": "claimed" if "w" in row else "", "waiting": "parked"}
        if index := standing.get(row["s"], "ended"):
            indexes[place.key(index)][run] = float(row["a"])
        if "d" in row:
            indexes[place.key("due")][run] = float(row["d"])

    def _add_queue(self, indexes: Index, place: Place, rows: dict[str, dict[str, str]]) -> None:
        holds = self._client.hgetall(place.key("holds"))
        lines: dict[str, list[str]] = defaultdict(list)
        for run, row in rows.items():
            if row["s"] != "queued":
                continue
            member = row["p"] + row["a"] + row["m"] + run
            if "k" not in row or holds.get(row["k"]) == run:
                indexes[place.key("ready")][member] = 0.0
            else:
                lines[row["k"]].append(member)
        for key, line in lines.items():
            indexes[place.key("line", key)] = dict.fromkeys(line, 0.0)
            if key not in holds:
                indexes[place.key("ready")][min(line)] = 0.0

    def _add_berths(self, indexes: Index) -> None:
        lines: dict[str, list[float]] = defaultdict(list)
        for approval, row in self._client.hgetall(BERTHS.key("rows")).items():
            ask = json.loads(row)
            number = float(ask["number"])
            indexes[BERTHS.key("known")][approval] = number
            if ask["state"] != "open":
                indexes[BERTHS.key(ask["state"])][approval] = number
            if ask["state"] == "waiting":
                indexes[BERTHS.key("line", ask["within"])][approval] = number
                lines[ask["within"]].append(number)
        indexes[BERTHS.key("lines")] = {within: min(numbers) for within, numbers in lines.items()}

    def _add_cards(self, indexes: Index, place: Place, run: str) -> None:
        name = place.key("facts", run)
        for field, packed in self._raw.hgetall(name).items():
            if not field.startswith(b"c["):
                continue
            _, _, wanted, shown, due, *_ = unpacked(packed)
            if wanted > shown:
                indexes[place.key("behind")][f"{run} {field.decode()}"] = float(due)


def _connect(server: ServerProcess | Cluster, *, decode_responses: bool) -> Any:
    if isinstance(server, Cluster):
        (host, port) = ("127.0.0.1", server.nodes[0].port)
        return redis.RedisCluster(host=host, port=port, decode_responses=decode_responses)
    return redis.Redis(unix_socket_path=str(server.socket), decode_responses=decode_responses)


def unpacked(packed: bytes) -> list[Any]:
    """Return the leading integers of a MessagePack array; all that cards are indexed by."""
    found, at = [], 1
    for _ in range(5):
        kind = packed[at]
        width = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD3: 8}.get(kind, 0)
        found.append(int.from_bytes(packed[at + 1 : at + 1 + width]) if width else kind)
        at += 1 + width
    return found


def contents(server: ServerProcess) -> dict[bytes, Any]:
    """Return all that is stored, whatever the order in which the server keeps it."""
    client = _connect(server, decode_responses=False)
    read = {
        b"hash": client.hgetall,
        b"zset": lambda name: dict(client.zrange(name, 0, -1, withscores=True)),
        b"list": lambda name: client.lrange(name, 0, -1),
        b"set": client.smembers,
        b"string": client.get,
    }
    try:
        return {name: read[client.type(name)](name) for name in client.scan_iter(count=1000)}
    finally:
        client.close()


def check_indexes(server: ServerProcess | Cluster) -> None:
    """Fail where an index is not what the runs and cards say."""
    audit = Audit(server)
    try:
        assert audit.found() == audit.expected()
    finally:
        audit.close()
