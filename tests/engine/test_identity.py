"""Who may decide: named members in good standing, never by default anyone else."""

import pytest

from engine.errors import NotAllowedError, Refusal
from engine.identity import OWNER, Actor, ActorKind, Approvers, Standing, Via, judge
from engine.ids import PersonId

ALICE, BOB, MALLORY = PersonId("UALICE"), PersonId("UBOB"), PersonId("UMALLORY")
NAMED = Approvers(people=(ALICE, BOB))


def actor(person: PersonId, kind: ActorKind = ActorKind.HUMAN) -> Actor:
    return Actor(kind=kind, id=person, via=Via.SLACK)


def refusal(approvers: Approvers, who: Actor, standing: Standing = Standing.MEMBER) -> Refusal:
    with pytest.raises(NotAllowedError) as refused:
        judge(approvers, who, standing, requester=ALICE)
    return refused.value.refusal


def test_a_named_member_may_decide() -> None:
    judge(NAMED, actor(BOB), Standing.MEMBER, requester=ALICE)


def test_somebody_else_may_not() -> None:
    assert refusal(NAMED, actor(MALLORY)) is Refusal.NOT_AN_APPROVER


def test_under_four_eyes_the_requester_may_not_though_named() -> None:
    assert refusal(NAMED, actor(ALICE)) is Refusal.REQUESTER


def test_without_four_eyes_a_named_requester_may() -> None:
    judge(Approvers(people=(ALICE,), four_eyes=False), actor(ALICE), Standing.MEMBER, ALICE)


def test_the_owner_is_asked_by_default_and_may_decide_what_they_requested() -> None:
    judge(OWNER.resolve(ALICE), actor(ALICE), Standing.MEMBER, requester=ALICE)


def test_with_nobody_named_nobody_may_decide() -> None:
    assert refusal(OWNER.resolve(PersonId("")), actor(ALICE)) is Refusal.NOBODY


@pytest.mark.parametrize(
    ("standing", "reason"),
    [
        (Standing.GUEST, Refusal.GUEST),
        (Standing.BOT, Refusal.BOT),
        (Standing.OUTSIDER, Refusal.OUTSIDER),
        (Standing.DEACTIVATED, Refusal.DEACTIVATED),
        (Standing.UNKNOWN, Refusal.UNKNOWN),
    ],
)
def test_a_named_person_not_in_good_standing_may_not(standing: Standing, reason: Refusal) -> None:
    assert refusal(NAMED, actor(BOB), standing) is reason


def test_the_system_may_not_decide_in_a_persons_place() -> None:
    assert refusal(NAMED, actor(BOB, ActorKind.SYSTEM)) is Refusal.NOT_AN_APPROVER


def test_the_same_person_is_the_same_by_every_way_in() -> None:
    ways = {Actor(id=BOB, via=via).key for via in Via}

    assert len(ways) == 1
