"""Who sees a remembered rule, and who may end it."""

from datetime import timedelta

import pytest

from engine import Approvers
from engine.errors import NotAllowedError, RunNotFoundError
from engine.identity import SYSTEM, Standing
from engine.ids import PersonId
from tests.engine.deciding import DAVE, MALLORY, named
from tests.engine.remembering import ANY_VERSION, NEXT, PROD, Shop, remembered, shop
from tests.engine.scripted import ALICE, BOB, CAROL, person

OPERATOR = PersonId("UOPERATOR")


async def of_a_group() -> Shop:
    """Return a shop with a rule that Bob gave, as one of the group of Bob and Dave."""
    made = shop(approvers=Approvers(groups=("S1",)))
    made.town.groups["S1"] = {BOB, DAVE}
    await made.answer(await made.run([PROD]), BOB, ANY_VERSION)
    return made


@pytest.mark.parametrize("who", [ALICE, BOB, DAVE, OPERATOR])
async def test_owner_giver_approvers_and_operator_see_it_and_may_end_it(who: PersonId) -> None:
    made = await of_a_group()
    (rule,) = await made.engine.revoking.seen_by(person(who), operator=OPERATOR)
    made.on.clock.move(timedelta(minutes=5))

    ended = await made.engine.revoking.revoke(rule.id.lower(), person(who), operator=OPERATOR)

    assert ended.revoked is not None
    assert (ended.revoked.by.id, ended.revoked.at) == (who, made.on.clock.now)
    assert await made.asks([NEXT])
    assert await made.engine.revoking.seen_by(person(who), operator=OPERATOR) == (ended,)


@pytest.mark.parametrize("who", [CAROL, MALLORY, OPERATOR])
async def test_nobody_else_sees_it_or_may_end_it(who: PersonId) -> None:
    made = await of_a_group()
    (rule,) = await made.rules()
    assert await made.engine.revoking.seen_by(person(who)) == ()
    with pytest.raises(NotAllowedError):
        await made.engine.revoking.revoke(rule.id, person(who))
    assert not await made.asks([NEXT])


async def test_an_approver_who_may_decide_no_more_ends_nothing() -> None:
    made = await of_a_group()
    (rule,) = await made.rules()
    made.town.standings[DAVE] = Standing.DEACTIVATED
    with pytest.raises(NotAllowedError):
        await made.engine.revoking.revoke(rule.id, person(DAVE))


async def test_the_system_ends_no_rule() -> None:
    made, _ = await remembered()
    (rule,) = await made.rules()
    with pytest.raises(NotAllowedError):
        await made.engine.revoking.revoke(rule.id, SYSTEM)


async def test_of_a_run_that_is_gone_the_owner_and_the_giver_may_still_end_it() -> None:
    made = await of_a_group()
    (rule,) = await made.rules()
    made.on.clock.move(timedelta(days=60))
    await made.on.store.purge(made.on.clock.now, 10)
    with pytest.raises(NotAllowedError):
        await made.engine.revoking.revoke(rule.id, person(DAVE))
    assert (await made.engine.revoking.revoke(rule.id, person(BOB))).revoked is not None


async def test_a_rule_that_is_not_there_is_not_found() -> None:
    made, _ = await remembered()
    with pytest.raises(RunNotFoundError, match="R00000000X"):
        await made.engine.revoking.revoke("R00000000X", person(ALICE))


async def test_a_rule_is_ended_once_and_the_first_word_stays() -> None:
    made, _ = await remembered()
    (rule,) = await made.rules()
    first = await made.engine.revoking.revoke(rule.id, person(BOB))
    made.on.clock.move(timedelta(minutes=1))
    assert await made.engine.revoking.revoke(rule.id, person(ALICE)) == first


async def test_while_nobody_can_say_who_is_who_the_giver_may_end_it() -> None:
    made, _ = await remembered(approvers=named(BOB, DAVE))
    (rule,) = await made.rules()
    made.town.down = True
    with pytest.raises(NotAllowedError):
        await made.engine.revoking.revoke(rule.id, person(DAVE))
    assert (await made.engine.revoking.revoke(rule.id, person(BOB))).revoked is not None
