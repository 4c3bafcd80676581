"""Whatever people do to asks that wait and asks that are open, each that is put to them is on one card."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Allow, Approvers, Deny, Wish
from engine.cards import BatchNotice, Role, TicketNotice
from engine.errors import ResumeError
from engine.identity import Via
from engine.ids import ApprovalId, RunId
from engine.tickets import Decision
from tests.engine.scripted import BOB, CAROL, Stage, person, stage
from tests.engine.test_flood import deployer, flood, settle

DECISIONS: list[Decision] = [
    Allow(),
    Allow(once=True),
    Allow(remember=Wish(hours=8)),
    Allow(arguments={"version": "9"}),
    Deny(),
]
ANSWERS = st.tuples(st.integers(0, 6), st.sampled_from([BOB, CAROL]), st.sampled_from(DECISIONS))
STEPS = st.lists(st.one_of(ANSWERS, st.sampled_from(["denied", "released", "shown"])), max_size=16)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(2, 6), st.integers(1, 4))
async def test_each_open_ask_is_on_one_card_and_what_is_held_back_on_none(
    steps: list[Any], calls: int, most: int
) -> None:
    more: dict[str, Any] = {"deny_limit": None, "tool_deny_limit": None, "calls": calls}
    both = Approvers(people=(BOB, CAROL), quorum=2)
    on = stage(lambda ledger: deployer(ledger, approvers=both, max_open_asks=most, **more))
    try:
        (run,) = await flood(on, 1)
        for step in steps:
            await take(on, run, step)
        await settle(on)
        shown = asked(on)
        open_now = (await on.engine.get_run(run)).tickets
        assert len(shown) == len(set(shown))
        assert {t.approval for t in open_now if not t.held} <= set(shown)
        assert set(shown).isdisjoint(t.approval for t in open_now if t.held)
    finally:
        await on.store.close()


async def take(on: Stage, run: RunId, step: Any) -> None:
    if step == "shown":
        await settle(on)
    elif step == "released":
        await on.engine.usher.release()
    elif step == "denied":
        tickets = (await on.engine.get_run(run)).tickets
        for ref in [one.ref for one in tickets if not one.held]:
            token = await on.engine.token_for(ref, Via.TERMINAL)
            await on.engine.resume(token, Deny(), actor=person(BOB, Via.TERMINAL))
    elif waits := (await on.engine.get_run(run)).tickets:
        number, who, decision = step
        token = await on.engine.token_for(waits[number % len(waits)].ref, Via.TERMINAL)
        try:
            await on.engine.resume(token, decision, actor=person(who, Via.TERMINAL))
        except ResumeError:
            return


def asked(on: Stage) -> list[ApprovalId]:
    """Return whose tickets stand on a card that asks, once for each card."""
    cards = [one for one in on.inbox.latest.values() if isinstance(one, TicketNotice | BatchNotice)]
    each = [
        one.tickets if isinstance(one, BatchNotice) else (one,)
        for one in cards
        if one.role is Role.ASK
    ]
    return [one.approval for some in each for one in some]
