"""What the examination says of a Redis or Valkey that decisions are to be trusted to."""

from bot.doctor import examine
from bot.doctor_findings import Finding, Level
from tests.bot.doctor.examined import (
    Set,
    failure,
    look,
)
from tests.servers.fixtures import Start
from tests.servers.process import ServerProcess


async def of_the_store() -> list[Finding]:
    return [one for one in await examine() if one.check == "store"]


async def test_a_good_server_is_told_of_and_nothing_is_written_to_it(
    given: Set,
    redis_server: ServerProcess,
) -> None:
    given(HOLDSHORT_STORE_URL=redis_server.url)

    (found,) = await of_the_store()

    assert found.level is Level.OK
    assert found.text.endswith(" keeps what it is given")
    assert redis_server.ask("DBSIZE") == 0


async def test_every_fault_of_a_server_is_a_failure_with_its_remedy(
    given: Set,
    start_server: Start,
) -> None:
    server = start_server(conf={"appendonly": "no", "maxmemory-policy": "volatile-lru"})
    given(HOLDSHORT_STORE_URL=server.url)

    first, second = await look("store")

    assert {first.level, second.level} == {Level.FAILURE}
    assert first.text.endswith("keeps no append-only file")
    assert first.remedy.startswith("set 'appendonly yes'")
    assert "'maxmemory-policy volatile-lru'" in second.text


async def test_more_replicas_than_there_are_are_a_failure(
    given: Set,
    redis_server: ServerProcess,
) -> None:
    given(HOLDSHORT_STORE_URL=redis_server.url, HOLDSHORT_STORE_REPLICAS="2")

    assert "HOLDSHORT_STORE_REPLICAS is 2, but the server has 0" in await failure("store")


async def test_what_is_accepted_to_be_lost_is_a_warning(
    given: Set,
    start_server: Start,
) -> None:
    server = start_server(conf={"appendfsync": "everysec"})
    given(HOLDSHORT_STORE_URL=server.url, HOLDSHORT_DURABILITY="relaxed")

    (found,) = await look("store")

    assert found.level is Level.WARNING
    assert "loses the last second or two of decisions" in found.remedy


async def test_another_store_than_the_expected_one_is_a_failure(
    given: Set,
    redis_server: ServerProcess,
) -> None:
    given(HOLDSHORT_STORE_URL=redis_server.url, HOLDSHORT_STORE_ID="mine")

    assert "HOLDSHORT_STORE_ID is 'mine', but the server holds no store" in await failure("store")


async def test_a_server_that_is_away_is_a_failure_told_without_its_password(
    given: Set,
) -> None:
    given(HOLDSHORT_STORE_URL="redis://bot:hunter2@127.0.0.1:9")

    text = await failure("store")

    assert text.startswith("redis://bot:***@127.0.0.1:9: ")
    assert text.endswith("the server cannot be reached")
