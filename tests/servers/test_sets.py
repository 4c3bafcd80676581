"""The Cluster and the Sentinel set do what the tests on them rely on."""

from collections.abc import Iterator

import pytest
from redis.exceptions import MovedError

from tests.servers.binaries import valkey
from tests.servers.cluster import Cluster
from tests.servers.proxy import Fault
from tests.servers.replicas import Pair, SentinelSet


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as made:
        yield made


def test_each_key_has_one_owner_that_a_move_changes(cluster: Cluster) -> None:
    first = cluster.owner("{hs:1}a")
    first.ask("SET", "{hs:1}a", "kept")
    other = next(node for node in cluster.nodes if node is not first)

    cluster.move("{hs:1}a", other)

    assert other.ask("GET", "{hs:1}a") == "kept"
    with pytest.raises(MovedError):
        first.ask("GET", "{hs:1}a")


def test_a_cluster_is_whole_again_after_a_node_was_killed(cluster: Cluster) -> None:
    cluster.nodes[1].restart()
    cluster.wait_ok()
    cluster.flush()
    assert [node.ask("DBSIZE") for node in cluster.nodes] == [0, 0, 0]


def test_the_replica_takes_over_when_the_master_hangs() -> None:
    with SentinelSet() as watched:
        before = watched.master()
        before.ask("SET", "kept", "yes")
        assert before.ask("WAIT", 1, 5_000) == 1

        before.pause()
        after = watched.wait_promoted(before)
        assert after.ask("GET", "kept") == "yes"


async def test_what_a_cut_off_master_takes_is_not_on_the_promoted_replica() -> None:
    async with Pair(valkey()) as pair:
        await pair.settle()
        pair.master.ask("SET", "seen", "yes")
        await pair.settle()
        pair.line.apply(Fault.BLACK_HOLE)

        pair.master.ask("SET", "unseen", "yes")
        pair.promote()

        assert pair.replica.ask("MGET", "seen", "unseen") == ["yes", None]
