"""What people are told: an answer for every error, and nothing called recorded that is not."""

from collections.abc import Iterator

import pytest

from bot.replies import (
    FOR_SLACK,
    FOR_TERMINAL,
    Words,
    recorded,
    refused,
    slow_store,
    started,
    told,
    unforeseen,
)
from bot.settings import SettingsError
from engine import Actor, Allow, Deny, Recorded, Via
from engine.errors import (
    AlreadyDecidedError,
    AlreadyVotedError,
    CommitConflictError,
    DeliveryError,
    DirectoryUnavailableError,
    HoldshortError,
    IdempotencyConflictError,
    InvalidAgentDefinitionError,
    InvalidAnswerError,
    InvalidResumeTokenError,
    InvalidRunStateError,
    ModelRequestError,
    NotAllowedError,
    Refusal,
    RunNotFoundError,
    StoreUnavailableError,
    StoreUnconfirmedError,
    TicketExpiredError,
    TicketMismatchError,
    TokenFault,
    TooEarlyError,
    ToolCallError,
    UndecodableRecordError,
    UnknownAgentError,
    WrongDecisionError,
)
from engine.ids import ApprovalId, PersonId, Ref, RunId
from engine.tickets import Resolution
from tests.bot.samples import NOON

AT = "<!date^1767268800^{date_short_pretty} at {time}|2026-01-01 12:00 UTC>"


def leaves(of: type[HoldshortError]) -> Iterator[type[HoldshortError]]:
    """Yield every error that has no more particular one."""
    below = of.__subclasses__()
    if not below:
        yield of
    for one in below:
        yield from leaves(one)


LEAVES = sorted(
    {leaf for leaf in leaves(HoldshortError) if not leaf.__module__.startswith("tests")},
    key=lambda leaf: leaf.__name__,
)


def test_the_tree_is_known_down_to_the_errors_of_bot_and_notifiers() -> None:
    assert {SettingsError, TicketExpiredError, AlreadyDecidedError} <= set(LEAVES)


@pytest.mark.parametrize("leaf", LEAVES)
def test_every_error_has_an_answer_of_its_own_or_of_its_kind(leaf: type[HoldshortError]) -> None:
    assert refused.dispatch(leaf) is not refused.dispatch(HoldshortError)


def no(refusal: Refusal, *people: str) -> NotAllowedError:
    return NotAllowedError(refusal, people)


def decided(decision: str, by: str) -> AlreadyDecidedError:
    return AlreadyDecidedError(decision=decision, by=by, at=NOON)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (decided("approved", "U0BOB"), f"Already approved by <@U0BOB>, {AT}; nothing changed."),
        (decided("denied", "U0ME"), f"Already denied by you, {AT}; nothing changed."),
        (
            decided("timed out", "system"),
            f"Nobody decided in time, so it was denied, {AT}; nothing changed.",
        ),
        (
            decided("withdrawn", "U0BOB"),
            f"The run was cancelled by <@U0BOB>, {AT}; nothing changed.",
        ),
        (
            no(Refusal.NOT_AN_APPROVER, "U0A", "U0B", "U0C"),
            "Only <@U0A>, <@U0B> or <@U0C> can decide this; nothing changed.",
        ),
        (
            no(Refusal.NOT_AN_APPROVER, *(f"U0{n}" for n in range(9))),
            (
                "Only <@U00>, <@U01>, <@U02>, <@U03>, <@U04>, <@U05> or 3 more can decide this;"
                " nothing changed."
            ),
        ),
        (
            no(Refusal.REQUESTER, "U0ME", "U0B"),
            (
                "You started this run, so someone else must decide. Only <@U0B> can decide this;"
                " nothing changed."
            ),
        ),
        (
            no(Refusal.GUEST, "U0ME"),
            (
                "Guests of this workspace cannot decide. Nobody else is named who may decide this;"
                " nothing changed. Please tell whoever runs Holdshort."
            ),
        ),
        (
            no(Refusal.NOBODY),
            (
                "Nobody is named who may decide this; nothing changed."
                " Please tell whoever runs Holdshort."
            ),
        ),
        (TicketExpiredError(NOON), f"Expired, {AT}: silence is a denial; nothing changed."),
        (
            InvalidResumeTokenError(TokenFault.FORGED),
            "This cannot be answered from here; nothing changed. See `/holdshort list`",
        ),
        (
            InvalidResumeTokenError(TokenFault.SUPERSEDED),
            "What is asked changed after this was shown; nothing changed. See `/holdshort list`",
        ),
        (RunNotFoundError("<!here>"), "Nothing here goes by &lt;!here&gt;. See `/holdshort list`"),
        (
            WrongDecisionError("allow", ("answer", "deny")),
            "Nothing changed: this takes an answer in words or a denial.",
        ),
        (
            WrongDecisionError("allow", ("settle",)),
            (
                "Nothing changed: this takes word of what happened:"
                " `holdshort runs resolve REF` in a terminal"
            ),
        ),
        (InvalidAnswerError("the answer is empty"), "Not recorded: the answer is empty."),
        (
            TooEarlyError(NOON),
            f"Not before {AT}: the first attempt may still be at work. Nothing changed.",
        ),
        (StoreUnavailableError("x"), slow_store()),
        (CommitConflictError("x"), slow_store()),
        (
            StoreUnconfirmedError("x"),
            (
                "Not yet confirmed: this is recorded on one server only; if that one is lost now, so"
                " may this be. No tool starts before it is confirmed. Say the same again to see whether"
                " it stands."
            ),
        ),
        (
            DirectoryUnavailableError("x"),
            ("Could not check who may decide; nothing was recorded. Please try again."),
        ),
        (
            UnknownAgentError("x*", ("a", "b")),
            "There is no agent x\\u{2A}; there are: a, b.",
        ),
    ],
)
def test_what_someone_is_told_in_slack(error: HoldshortError, text: str) -> None:
    assert told(error, FOR_SLACK, "U0ME") == text


OTHERS: list[HoldshortError] = [
    InvalidAgentDefinitionError("canary-detail"),
    SettingsError(["canary-detail"]),
    TicketMismatchError("digest"),
    IdempotencyConflictError("canary-detail"),
    ToolCallError("canary-detail"),
    ModelRequestError("canary-detail", retryable=True),
    DeliveryError("canary-detail"),
    UndecodableRecordError("canary-detail"),
    StoreUnavailableError("canary-detail"),
    StoreUnconfirmedError("canary-detail"),
    DirectoryUnavailableError("canary-detail"),
    InvalidResumeTokenError(TokenFault.EXPIRED),
    *(no(refusal, "U0A") for refusal in Refusal),
]


@pytest.mark.parametrize("words", [FOR_SLACK, FOR_TERMINAL])
@pytest.mark.parametrize("error", OTHERS, ids=lambda error: type(error).__name__)
def test_no_refusal_is_told_as_recorded_or_with_inner_details(
    error: HoldshortError, words: Words
) -> None:
    text = refused(error, words, "U0ME")

    assert text
    assert "canary-detail" not in text
    assert not text.startswith("Recorded")
    assert "\n" not in text


def outcome(still_open: int, decision: Allow | Deny) -> Recorded:
    who = Actor(id=PersonId("U0ME"), via=Via.SLACK)
    return Recorded(
        run=RunId("run_1"),
        run_ref=Ref("AAAAAA"),
        approval=ApprovalId("apr_1"),
        ref=Ref("K7F3QD"),
        resolution=Resolution(decision=decision, actor=who, at=NOON),
        still_open=still_open,
    )


@pytest.mark.parametrize(
    ("still_open", "rest"),
    [
        (0, ""),
        (1, " One more decision is open in this run."),
        (3, " 3 more decisions are open in this run."),
    ],
)
def test_what_is_recorded_is_told_with_what_is_still_open(still_open: int, rest: str) -> None:
    assert recorded(outcome(still_open, Allow())) == f"Recorded: approved (K7F3QD).{rest}"
    assert told(outcome(still_open, Deny()), FOR_SLACK) == f"Recorded: denied (K7F3QD).{rest}"


@pytest.mark.parametrize(
    ("votes", "needed", "rest"),
    [(1, 2, "1 of 2; waiting for one more."), (1, 3, "1 of 3; waiting for 2 more.")],
)
def test_a_vote_is_told_with_how_many_are_missing(votes: int, needed: int, rest: str) -> None:
    vote = outcome(0, Allow()).model_copy(update={"votes": votes, "needed": needed})
    last = vote.model_copy(update={"votes": needed})
    no = outcome(0, Deny()).model_copy(update={"votes": votes, "needed": needed})

    assert recorded(vote) == f"Recorded: approved (K7F3QD). {rest}"
    assert recorded(last) == "Recorded: approved (K7F3QD)."
    assert recorded(no) == "Recorded: denied (K7F3QD)."


def test_a_second_vote_is_told_when_the_first_was_and_how_many_there_are() -> None:
    error = AlreadyVotedError(at=NOON, votes=1, needed=2)
    assert refused(error, FOR_SLACK) == (
        f"You approved this already, {AT}: 1 of 2. Nothing changed."
    )


def test_whoever_is_refused_is_told_of_groups_channels_and_whoever_is_on_call() -> None:
    error = NotAllowedError(
        Refusal.NOT_AN_APPROVER, ("U0BOB",), groups=("S0OPS",), channels=("C0OPS",), on_call=True
    )
    assert refused(error, FOR_SLACK) == (
        "Only <@U0BOB>, <!subteam^S0OPS>, anyone in <#C0OPS> or whoever is on call can decide"
        " this; nothing changed."
    )
    assert refused(error, FOR_TERMINAL) == (
        "Only U0BOB, user group S0OPS, anyone in channel C0OPS or whoever is on call can decide"
        " this; nothing changed."
    )


def test_the_terminal_is_told_in_plain_text() -> None:
    error = decided("approved", "U0BOB\x1b[2J")

    text = refused(error, FOR_TERMINAL)

    assert text.startswith("Already approved by U0BOB\\u{1B}[2J, 2026-01-01 12:00 UTC")
    assert refused(RunNotFoundError("x"), FOR_TERMINAL).endswith("See `holdshort runs list`")
    assert started("deployer", Ref("K7F3QD"), FOR_TERMINAL).endswith("`holdshort runs show K7F3QD`")


def test_a_state_that_allows_nothing_is_told_in_its_own_words() -> None:
    error = InvalidRunStateError("run K7F3QD waits on several things; name one: A, B")
    assert refused(error, FOR_SLACK) == (
        "Run K7F3QD waits on several things; name one: A, B; nothing changed."
    )


def test_what_nobody_foresaw_promises_nothing() -> None:
    assert "not known whether" in unforeseen()
