"""Remembered rules are kept once, hold until they are over, and are gone when they are forgotten."""

from datetime import timedelta

import pytest

from engine.errors import UndecodableRecordError
from engine.ids import PersonId
from engine.remembered import (
    MAX_LIVE,
    RememberedRule,
    RememberFault,
    RememberRefusedError,
)
from engine.store import Store
from tests.factories import OWNER, START, HeldClock, make_revoked, make_rule

MICROSECOND = timedelta(microseconds=1)
HOUR = timedelta(hours=1)


async def live(store: Store, agent: str = "deployer", owner: str = OWNER) -> set[str]:
    return {rule.id for rule in await store.rules.live(agent, PersonId(owner))}


async def test_a_rule_comes_back_as_it_was_kept(store: Store) -> None:
    rule = make_rule()
    await store.rules.keep(rule)
    assert await store.rules.live("deployer", OWNER) == (rule,)
    assert await store.rules.listed() == (rule,)


async def test_rules_are_of_one_agent_and_one_owner(store: Store) -> None:
    mine, other = make_rule(), make_rule(agent="other")
    hers = make_rule(owner=PersonId("UHER"))
    for rule in (mine, other, hers):
        await store.rules.keep(rule)
    assert await live(store) == {mine.id}
    assert await live(store, "other") == {other.id}
    assert await live(store, owner="UHER") == {hers.id}
    assert await live(store, "other", "UHER") == set()


async def test_names_that_run_together_are_not_the_same(store: Store) -> None:
    await store.rules.keep(make_rule(agent="ab", owner=PersonId("c")))
    assert await live(store, "a", "bc") == set()


async def test_a_rule_holds_until_its_end_by_the_stores_clock(
    store: Store, clock: HeldClock
) -> None:
    rule = make_rule()
    await store.rules.keep(rule)
    clock.now = rule.expires_at - MICROSECOND
    assert await live(store) == {rule.id}
    clock.now = rule.expires_at
    assert await live(store) == set()
    assert await store.rules.listed() == (rule,)


async def test_a_rule_is_kept_once_and_a_second_keeping_changes_nothing(store: Store) -> None:
    rule = make_rule()
    await store.rules.keep(rule)
    await store.rules.keep(rule.model_copy(update={"agent": "other"}))
    assert await store.rules.listed() == (rule,)
    assert await live(store, "other") == set()


async def test_a_revoked_rule_holds_no_more_and_tells_who_ended_it_and_when(
    store: Store, clock: HeldClock
) -> None:
    rule, kept = make_rule(), make_rule()
    await store.rules.keep(rule)
    await store.rules.keep(kept)
    revoked = make_revoked(clock.move(minutes=1))

    ended = await store.rules.revoke(rule.id, revoked)

    assert ended == rule.model_copy(update={"revoked": revoked})
    assert await live(store) == {kept.id}
    assert set(await store.rules.listed()) == {ended, kept}


async def test_a_rule_is_revoked_once_and_the_first_word_stays(
    store: Store, clock: HeldClock
) -> None:
    rule = make_rule()
    await store.rules.keep(rule)
    first = await store.rules.revoke(rule.id, make_revoked(clock.move(minutes=1)))
    assert await store.rules.revoke(rule.id, make_revoked(clock.move(minutes=1))) == first
    assert await store.rules.listed() == (first,)


async def test_keeping_a_revoked_rule_again_does_not_bring_it_back(
    store: Store, clock: HeldClock
) -> None:
    rule = make_rule()
    await store.rules.keep(rule)
    await store.rules.revoke(rule.id, make_revoked(clock.now))
    await store.rules.keep(rule)
    assert await live(store) == set()


async def test_a_rule_that_is_not_there_is_not_revoked(store: Store) -> None:
    assert await store.rules.revoke("R00000000X", make_revoked()) is None


async def test_only_so_many_rules_hold_at_once_for_an_agent_and_an_owner(
    store: Store, clock: HeldClock
) -> None:
    for _ in range(MAX_LIVE - 1):
        await store.rules.keep(make_rule())
    over = make_rule(granted_at=START - 2 * HOUR, expires_at=START - HOUR)
    await store.rules.keep(over)
    last = make_rule()
    await store.rules.keep(last)

    with pytest.raises(RememberRefusedError) as refused:
        await store.rules.keep(make_rule())
    assert refused.value.fault is RememberFault.FULL
    await store.rules.keep(last)
    await store.rules.keep(over)
    await store.rules.keep(make_rule(agent="other"))
    await store.rules.revoke(last.id, make_revoked(clock.now))
    await store.rules.keep(make_rule())
    assert len(await live(store)) == MAX_LIVE


async def test_what_was_over_before_a_moment_is_forgotten(store: Store, clock: HeldClock) -> None:
    short = make_rule()
    long = make_rule(expires_at=START + 8 * HOUR)
    revoked = make_rule(expires_at=START + 8 * HOUR, agent="other")
    for rule in (short, long, revoked):
        await store.rules.keep(rule)
    ended = await store.rules.revoke(revoked.id, make_revoked(START + HOUR))
    clock.now = START + 2 * HOUR

    assert await store.rules.forget(short.expires_at) == 0
    assert await store.rules.forget(short.expires_at + MICROSECOND, dry_run=True) == 2
    assert set(await store.rules.listed()) == {short, long, ended}
    assert await store.rules.forget(short.expires_at + MICROSECOND) == 2
    assert await store.rules.listed() == (long,)
    assert await live(store) == {long.id}


async def test_rules_are_listed_by_when_they_were_given(store: Store) -> None:
    rules = [make_rule(granted_at=START + timedelta(minutes=n)) for n in (3, 1, 2)]
    for rule in rules:
        await store.rules.keep(rule)
    listed = await store.rules.listed()
    assert [rule.granted_at for rule in listed] == sorted(rule.granted_at for rule in rules)


async def test_a_rule_of_an_unknown_version_is_passed_over_and_reported_once(
    store: Store, reported: list[UndecodableRecordError]
) -> None:
    newer = make_rule()
    strange = RememberedRule.model_construct(**{**dict(newer), "schema_version": 2})
    await store.rules.keep(strange)
    known = make_rule()
    await store.rules.keep(known)

    assert await live(store) == {known.id}
    assert await store.rules.listed() == (known,)
    with pytest.raises(UndecodableRecordError, match=newer.id):
        await store.rules.revoke(newer.id, make_revoked())
    assert len(reported) == 1
    assert newer.id in str(reported[0])


async def test_a_purge_of_runs_leaves_rules_alone(store: Store, clock: HeldClock) -> None:
    rule = make_rule()
    await store.rules.keep(rule)
    clock.now += timedelta(days=90)
    assert await store.purge(clock.now, 10) == 0
    assert await store.rules.listed() == (rule,)
