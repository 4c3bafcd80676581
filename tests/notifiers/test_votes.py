"""Who may decide, how many it takes, and who has allowed so far, as cards say it."""

from datetime import timedelta

from bot.gallery.samples import ALICE, BOB, LATER, closed, ticket
from engine.identity import Actor, Approvers, Via, Vote
from engine.ids import PersonId
from engine.tickets import Allow, Deny
from notifiers.card import ask_card, short_card
from tests.notifiers.judge import check_message, shown


def vote(who: str, seat: str = "", minutes: int = 0) -> Vote:
    at = LATER + timedelta(minutes=minutes)
    actor = Actor(id=PersonId(who), via=Via.SLACK)
    return Vote(actor=actor, person=actor.id, seat=PersonId(seat or who), at=at)


def test_groups_channels_and_whoever_is_on_call_are_named_and_nothing_else_is_read_into_them() -> (
    None
):
    who = Approvers(
        people=(BOB,), groups=("S0ONCALL", "S0> <!channel"), channels=("C1", "x"), on_call=True
    )
    message = ask_card(ticket(approvers=who))

    check_message(message)
    assert (
        f"asks <@{BOB}>, <!subteam^S0ONCALL>, S0&gt; &lt;!channel, anyone in <#C1>, anyone in x"
        " or whoever is on call"
    ) in shown(message.blocks)


def test_how_many_are_needed_and_who_allowed_so_far_is_on_the_card() -> None:
    who = Approvers(people=(ALICE, BOB), quorum=2)
    none = shown(ask_card(ticket(approvers=who, needed=2)).blocks)
    one = shown(ask_card(ticket(approvers=who, needed=2, votes=(vote(BOB),))).blocks)
    other = shown(ask_card(ticket(approvers=who, needed=2, votes=(vote("U9", BOB),))).blocks)

    assert "0 of 2 approved" in none
    assert f"1 of 2 approved: <@{BOB}> <!date^" in one
    assert f"1 of 2 approved: <@U9> for <@{BOB}> <!date^" in other
    assert "approved" not in shown(ask_card(ticket()).blocks)


def test_many_votes_fit_a_card_open_and_closed() -> None:
    votes = tuple(vote(f"U{number:08}") for number in range(300))
    open_card = ask_card(ticket(needed=400, votes=votes))
    decided = ask_card(closed(Allow(), needed=300, votes=votes))

    for message in (open_card, decided, short_card(ticket(needed=400, votes=votes))):
        check_message(message)
    assert "300 of 400 approved" in shown(open_card.blocks)
    assert "and 294 more" in shown(decided.blocks)


def test_a_closed_card_names_everyone_whose_word_it_took_and_in_whose_place() -> None:
    votes = (vote(BOB), vote("U9", ALICE))
    several = shown(ask_card(closed(Allow(), needed=2, votes=votes)).blocks)
    instead = shown(ask_card(closed(Deny(), instead_of=ALICE, votes=votes)).blocks)

    assert f"by <@{BOB}> and <@U9> for <@{ALICE}> \u00b7" in several
    assert f"by <@{BOB}> for <@{ALICE}> \u00b7" in instead
