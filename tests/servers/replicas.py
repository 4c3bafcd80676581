"""A master with a replica: watched by Sentinels, or with a faulty line between the two."""

import asyncio
from contextlib import ExitStack
from typing import Self

from tests.servers.binaries import Binary
from tests.servers.ports import LOOPBACK
from tests.servers.process import ServerProcess, wait_until
from tests.servers.proxy import FaultProxy

SERVICE = "holdshort"
DOWN_AFTER_MS = 500


class SentinelSet:
    """A master, a replica, and Sentinels that promote the replica when the master is lost.

    ``servers`` holds both servers; which is the master changes, so ask ``master()``.
    """

    def __init__(self, binary: Binary | None = None, *, sentinels: int = 1) -> None:
        """Take the program and how many Sentinels there are; most of them must agree."""
        self._stack = ExitStack()
        self.servers = (ServerProcess(binary, tcp=True), ServerProcess(binary, tcp=True))
        conf = self._watch(quorum=sentinels // 2 + 1)
        self.sentinels = tuple(
            ServerProcess(binary, sentinel=True, conf=conf) for _ in range(sentinels)
        )

    def _watch(self, quorum: int) -> dict[str, str]:
        return {
            f"sentinel monitor {SERVICE}": f"{LOOPBACK} {self.servers[0].port} {quorum}",
            f"sentinel down-after-milliseconds {SERVICE}": str(DOWN_AFTER_MS),
            f"sentinel failover-timeout {SERVICE}": "3000",
        }

    @property
    def url(self) -> str:
        """Return the address with every Sentinel in it."""
        hosts = ",".join(f"{LOOPBACK}:{one.port}" for one in self.sentinels)
        return f"redis+sentinel://{hosts}/{SERVICE}"

    def __enter__(self) -> Self:
        """Start all, and wait until a failover could succeed."""
        with ExitStack() as stack:
            for one in (*self.servers, *self.sentinels):
                stack.callback(one.close)
            for server in self.servers:
                server.start()
            follow(self.servers[1], self.servers[0].port)
            for sentinel in self.sentinels:
                sentinel.start()
            wait_until(self._is_ready, "every Sentinel knows the replica and the others")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        """End all."""
        self._stack.close()

    def master(self) -> ServerProcess:
        """Return the server that the first Sentinel lists as the master, as drivers ask for it.

        GET-MASTER-ADDR-BY-NAME tells of a new one earlier, while the failover is going on.
        """
        told = self.sentinels[0].ask("SENTINEL", "MASTER", SERVICE)
        return next(server for server in self.servers if server.port == int(told["port"]))

    def failover(self) -> ServerProcess:
        """Have the replica promoted though the master is well; return the new master.

        The old one is made to follow at once: a Sentinel leaves it 8 s in which it takes writes.
        """
        before = self.master()
        self.sentinels[0].ask("SENTINEL", "FAILOVER", SERVICE)
        after = self.wait_promoted(before)
        follow(before, after.port)
        return after

    def wait_promoted(self, before: ServerProcess) -> ServerProcess:
        """Return the new master, once the Sentinel names another than before and it takes writes."""
        wait_until(lambda: self.master() is not before, "the replica is promoted")
        after = self.master()
        wait_until(lambda: after.info("replication")["role"] == "master", "it takes writes")
        return after

    def _is_ready(self) -> bool:
        return all(map(self._sees_all, self.sentinels))

    def _sees_all(self, sentinel: ServerProcess) -> bool:
        told = sentinel.ask("SENTINEL", "MASTER", SERVICE)
        others = len(self.sentinels) - 1
        replicas = sentinel.ask("SENTINEL", "REPLICAS", SERVICE)
        linked = [one["master-link-status"] for one in replicas] == ["ok"]
        return linked and int(told["num-other-sentinels"]) == others


class Pair:
    """A master and a replica that follows it through ``line``, for partitions without a Sentinel."""

    def __init__(self, binary: Binary | None = None) -> None:
        """Take the program."""
        self._stack = ExitStack()
        self.master = ServerProcess(binary, tcp=True)
        self.replica = ServerProcess(binary, tcp=True)
        self.line = FaultProxy(self.master.port)

    async def __aenter__(self) -> Self:
        """Start both, and the replication."""
        for server in (self.master, self.replica):
            self._stack.callback(server.close)
        try:
            self.master.start()
            self.replica.start()
            await self.line.__aenter__()
            self.replica.ask("REPLICAOF", LOOPBACK, self.line.port)
        except BaseException:
            self._stack.close()
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        """End both."""
        await self.line.__aexit__(*exception)
        self._stack.close()

    async def settle(self) -> None:
        """Return when the replica has all that the master has."""
        await asyncio.to_thread(wait_until, self._in_step, "the replica is in step")

    def promote(self) -> None:
        """Make the replica a master; what the old one has beside it is lost to clients of this."""
        self.replica.ask("REPLICAOF", "NO", "ONE")

    def _in_step(self) -> bool:
        here, there = (one.info("replication") for one in (self.master, self.replica))
        return _is_linked(self.replica) and here["master_repl_offset"] == there["slave_repl_offset"]


def follow(replica: ServerProcess, port: int) -> None:
    """Make a server the replica of the one on a loopback port, and wait until it is linked."""
    replica.ask("REPLICAOF", LOOPBACK, port)
    wait_until(lambda: _is_linked(replica), "the replica is linked")


def _is_linked(replica: ServerProcess) -> bool:
    told = replica.info("replication")
    return bool(told.get("master_link_status") == "up" and not told["master_sync_in_progress"])
