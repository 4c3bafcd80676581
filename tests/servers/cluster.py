"""A Cluster of three masters that share all slots."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Self

from tests.servers.binaries import Binary
from tests.servers.ports import LOOPBACK
from tests.servers.process import ServerProcess, wait_until

SLOTS = 16_384
MASTERS = 3
_CONF = {"cluster-node-timeout": "1000"}


class Cluster:
    """Three masters on loopback ports; node ``i`` has the i-th third of the slots."""

    def __init__(self, binary: Binary | None = None, conf: Mapping[str, str] | None = None) -> None:
        """Take the program, and settings for each node."""
        self._stack = ExitStack()
        self.nodes = tuple(
            ServerProcess(binary, cluster=True, conf={**_CONF, **(conf or {})})
            for _ in range(MASTERS)
        )

    @property
    def url(self) -> str:
        """Return the address with every node in it."""
        return "redis+cluster://" + ",".join(f"{LOOPBACK}:{node.port}" for node in self.nodes)

    def __enter__(self) -> Self:
        """Start the nodes and join them."""
        with ExitStack() as stack:
            for node in self.nodes:
                stack.callback(node.close)
            for node in self.nodes:
                node.launch()
            self._join()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        """End the nodes."""
        self._stack.close()

    def wait_ok(self) -> None:
        """Return when each node sees every other, and all slots served."""
        wait_until(lambda: all(map(_is_ok, self.nodes)), "the cluster is whole")

    def flush(self) -> None:
        """Forget all keys and scripts."""
        for node in self.nodes:
            node.flush()

    def owner(self, key: str) -> ServerProcess:
        """Return the node that has a key's slot."""
        slot = int(self.nodes[0].ask("CLUSTER", "KEYSLOT", key))
        return self.nodes[self._home(slot)]

    def move(self, key: str, target: ServerProcess) -> None:
        """Move a key's slot, with all keys in it, from the node that had it at the start."""
        slot = int(target.ask("CLUSTER", "KEYSLOT", key))
        source = self.nodes[self._home(slot)]
        here, there = (node.ask("CLUSTER", "MYID") for node in (source, target))
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", here)
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", there)
        for name in source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1_000):
            source.ask("MIGRATE", LOOPBACK, target.port, name, 0, 5_000)
        for node in (target, source, *self.nodes):
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", there)

    def _home(self, slot: int) -> int:
        return next(i for i in range(MASTERS) if slot <= _share(i)[1])

    def _join(self) -> None:
        for node in self.nodes:
            node.wait_ready()
        for number, node in enumerate(self.nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            node.ask("CLUSTER", "ADDSLOTSRANGE", *_share(number))
        first, *others = self.nodes
        for node in others:
            first.ask("CLUSTER", "MEET", LOOPBACK, node.port, _bus(node))
        self.wait_ok()


def _share(number: int) -> tuple[int, int]:
    return SLOTS * number // MASTERS, SLOTS * (number + 1) // MASTERS - 1


def _bus(node: ServerProcess) -> int:
    return int(node.ask("CONFIG", "GET", "cluster-port")["cluster-port"])


def _is_ok(node: ServerProcess) -> bool:
    told: Any = node.ask("CLUSTER", "INFO")
    lines = told if isinstance(told, dict) else dict(line.split(":", 1) for line in told.split())
    return lines["cluster_state"] == "ok" and int(lines["cluster_known_nodes"]) == MASTERS
