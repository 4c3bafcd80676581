"""Who may decide: named members in good standing, never by default anyone else."""

import pytest

from engine.errors import NotAllowedError, Refusal
from engine.identity import (
    OWNER,
    Actor,
    ActorKind,
    Approvers,
    Claimant,
    Person,
    Standing,
    Via,
    judge,
)
from engine.ids import PersonId

ALICE, BOB, MALLORY = PersonId("UALICE"), PersonId("UBOB"), PersonId("UMALLORY")
NAMED = Approvers(people=(ALICE, BOB))


def actor(person: PersonId, kind: ActorKind = ActorKind.HUMAN) -> Actor:
    return Actor(kind=kind, id=person, via=Via.SLACK)


def claimant(
    approvers: Approvers, who: Actor, standing: Standing = Standing.MEMBER, requester: str = ALICE
) -> Claimant:
    person = Person(who.id, standing, frozenset({who.id}))
    seat = who.id if who.id in approvers.people else None
    return Claimant(who, person, seat, requested=who.id == requester)


def refusal(approvers: Approvers, who: Actor, standing: Standing = Standing.MEMBER) -> Refusal:
    with pytest.raises(NotAllowedError) as refused:
        judge(approvers, claimant(approvers, who, standing))
    return refused.value.refusal


def test_a_named_member_may_decide() -> None:
    assert judge(NAMED, claimant(NAMED, actor(BOB))) == BOB


def test_somebody_else_may_not() -> None:
    assert refusal(NAMED, actor(MALLORY)) is Refusal.NOT_AN_APPROVER


def test_under_four_eyes_the_requester_may_not_though_named() -> None:
    assert refusal(NAMED, actor(ALICE)) is Refusal.REQUESTER


def test_without_four_eyes_a_named_requester_may() -> None:
    named = Approvers(people=(ALICE,), four_eyes=False)
    assert judge(named, claimant(named, actor(ALICE))) == ALICE


def test_the_owner_is_asked_by_default_and_may_decide_what_they_requested() -> None:
    owner = OWNER.resolve(ALICE)
    assert judge(owner, claimant(owner, actor(ALICE))) == ALICE


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


@pytest.mark.parametrize("standing", [Standing.GUEST, Standing.BOT, Standing.OUTSIDER])
def test_whoever_is_admitted_by_name_may_if_they_are_named_too(standing: Standing) -> None:
    admitting = NAMED.model_copy(update={"admitted": (BOB, MALLORY)})

    assert judge(admitting, claimant(admitting, actor(BOB), standing)) == BOB
    assert refusal(admitting, actor(MALLORY), standing) is Refusal.NOT_AN_APPROVER


@pytest.mark.parametrize("standing", [Standing.DEACTIVATED, Standing.UNKNOWN])
def test_no_name_admits_whoever_is_gone_or_unknown(standing: Standing) -> None:
    admitting = NAMED.model_copy(update={"admitted": (BOB,)})

    assert refusal(admitting, actor(BOB), standing) is not None


def test_the_system_may_not_decide_in_a_persons_place() -> None:
    assert refusal(NAMED, actor(BOB, ActorKind.SYSTEM)) is Refusal.NOT_AN_APPROVER


def test_the_same_person_is_the_same_by_every_way_in() -> None:
    ways = {Actor(id=BOB, via=via).key for via in Via}

    assert len(ways) == 1
