"""The slash command: every word it knows, forgiving about refs, private, and judged like a click."""

from datetime import timedelta

import pytest
from pydantic import SecretStr

from bot.local_slack import Fault, FaultKind, Forgery
from bot.replies import FOR_SLACK, not_a_question
from engine import Agent, Approvers, RunStatus, ask_human
from engine.ids import PersonId
from notifiers import names
from tests.bot.samples import lost_ticket
from tests.bot.stage import (
    ALICE,
    BOB,
    CAROL,
    DEPLOYS,
    GENERAL,
    GUEST,
    Stage,
    both,
    deployer,
    on_stage,
)
from tests.engine.scripted import Ledger, script

MODES = pytest.mark.parametrize("mode", ["http", "socket"])
HOSTILE = "<!channel> *bold* `code` <https://evil.example|Approve> \u202eevil"


async def typed(on: Stage, user: str, text: str, **more: object) -> str:
    """Type something after /holdshort and return the reply."""
    forge = Forgery(set=dict(more)) if more else None
    return await on.answered(await on.people.slash(user, DEPLOYS, text, forge=forge))


@MODES
async def test_an_answer_is_recorded_and_becomes_the_result(mode: str) -> None:
    async with on_stage(mode=mode) as on:
        run, _ = await on.park("curious")
        ref = run.tickets[0].ref

        said = await typed(on, BOB, f"answer {ref} CHG-7 and CHG-8")

        assert said == f"Recorded: answered ({ref})."
        ended = await on.until_run(run.id, lambda now: not now.live)
        assert ended.output == "ask_human=success:CHG-7 and CHG-8"


async def test_a_ref_is_read_as_people_type_it() -> None:
    async with on_stage() as on:
        run, _ = await on.park("curious")
        ref = run.tickets[0].ref
        sloppy = ref.lower().replace("0", "o").replace("1", "l")

        said = await typed(on, BOB, f"  ANSWER   {sloppy}   CHG-7")

        assert said.startswith("Recorded: answered")


async def test_a_runs_own_ref_will_do_where_one_thing_is_open() -> None:
    async with on_stage() as on:
        run, _ = await on.park("curious")
        assert (await typed(on, BOB, f"answer {run.ref} CHG-7")).startswith("Recorded: answered")


async def test_the_same_answer_again_is_told_the_same_and_another_is_told_who_answered() -> None:
    async with on_stage() as on:
        run, _ = await on.park("curious")
        ref = run.tickets[0].ref
        first = await typed(on, BOB, f"answer {ref} CHG-7")

        assert await typed(on, BOB, f"answer {ref} CHG-7") == first
        assert (await typed(on, BOB, f"answer {ref} CHG-9")).startswith("Already answered by you")


async def test_an_answer_is_judged_like_any_other() -> None:
    async with on_stage() as on:
        run, _ = await on.park("curious")
        ref = run.tickets[0].ref

        said = await typed(on, CAROL, f"answer {ref} CHG-7")

        assert said == "Only <@U0BOB> can decide this; nothing changed."
        assert await on.unchanged(run)


async def test_a_permission_is_not_answered_in_words() -> None:
    async with on_stage() as on:
        run, _ = await on.park()
        ref = run.tickets[0].ref

        said = await typed(on, BOB, f"answer {ref} yes")

        assert "asks for a permission" in said
        assert "Press Approve or Deny" in said
        assert await on.unchanged(run)


@pytest.mark.parametrize("text", ["answer", "answer K7F3QD"])
async def test_an_answer_without_words_is_told_what_is_missing(text: str) -> None:
    async with on_stage() as on:
        assert "answer REF" in await typed(on, BOB, text)


@pytest.mark.parametrize("text", ["answer ZZZZZZ x", "show ZZZZZZ", f"show {HOSTILE}"])
async def test_what_goes_by_no_such_name_is_told_so_and_stays_inert(text: str) -> None:
    async with on_stage() as on:
        said = await typed(on, BOB, text)

        assert said.startswith("Nothing here goes by")
        assert "<!channel>" not in said
        assert "<https" not in said
        assert "\u202e" not in said


@MODES
async def test_run_starts_a_run_of_whoever_typed_it_with_its_card_there(mode: str) -> None:
    async with on_stage(mode=mode) as on:
        typed_there = await on.people.slash(CAROL, GENERAL, "run deployer release it")
        said = await on.answered(typed_there)

        (run,) = (await on.runtime.engine.list_runs()).runs
        assert run.ref in said
        assert (run.owner, run.requester) == (CAROL, CAROL)
        assert run.origin.channel == GENERAL
        await on.people.wait_for_message(CAROL, GENERAL, lambda m: "deployer asks" in m["text"])


async def test_an_unknown_agent_is_told_with_those_there_are() -> None:
    async with on_stage() as on:
        said = await typed(on, BOB, f"run {HOSTILE.split(maxsplit=1)[0]} now")

        assert said == "There is no agent &lt;!channel&gt;; there are: deployer, curious."
        assert (await on.runtime.engine.list_runs()).runs == ()


@pytest.mark.parametrize(
    ("text", "hint"), [("run", "run AGENT"), ("run deployer", "to do what?"), ("show", "show REF")]
)
async def test_a_run_without_words_is_told_what_is_missing(text: str, hint: str) -> None:
    async with on_stage() as on:
        assert hint in await typed(on, BOB, text)


@pytest.mark.parametrize("text", ["", "help", "HELP", "  "])
async def test_help_names_every_word_and_the_agents(text: str) -> None:
    async with on_stage() as on:
        said = await typed(on, BOB, text)

        for word in ("answer REF", "list", "show REF", "run AGENT", "deployer, curious"):
            assert word in said


async def test_an_unknown_word_gets_help_with_a_hint() -> None:
    async with on_stage() as on:
        said = await typed(on, BOB, "aprove <!here> K7F3QD")

        assert said.startswith("I do not know `aprove`.")
        assert "/holdshort help" in said


async def test_list_tells_what_waits_for_me_and_my_other_runs() -> None:
    approvers = Approvers(people=(PersonId(BOB),))

    def agents(ledger: Ledger) -> list[Agent]:
        return [*both(ledger)[1:], deployer(ledger, approvers=approvers)]

    async with on_stage(agents) as on:
        asks, _ = await on.park("curious")
        needs, _ = await on.park(owner=ALICE)

        for_bob, for_alice = await typed(on, BOB, "list"), await typed(on, ALICE, "list")
        for_carol = await typed(on, CAROL, "list")

        assert asks.tickets[0].ref in for_bob
        assert "Which change ticket?" in for_bob
        assert needs.tickets[0].ref in for_bob
        assert "Waiting for you" not in for_alice
        assert f"`{needs.ref}` deployer: waiting for <@U0BOB>" in for_alice
        assert for_carol == "Nothing waits for you, and no run of yours goes on."


async def test_show_tells_how_a_ticket_stands_to_those_concerned() -> None:
    async with on_stage() as on:
        run, card = await on.park()
        ref = run.tickets[0].ref

        before = await typed(on, BOB, f"show {ref}")
        await on.press(BOB, card)
        await on.until_run(run.id, lambda now: not now.live)
        after = await typed(on, BOB, f"show {run.tickets[0].ref}")

        assert f"`{ref}` Run deploy? <@U0BOB> may decide until <!date^" in before
        assert "version = 1.4.2" in before
        assert "waits for an approval" in before
        assert f"`{ref}` Run deploy? Approved by <@U0BOB> <!date^" in after
        assert '> Ran in less than 0.1 s: "release 1.4.2 live' in after


async def test_show_tells_others_no_contents() -> None:
    async with on_stage() as on:
        run, _ = await on.park()

        said = await typed(on, CAROL, f"show {run.ref}")

        assert "waiting" in said
        assert "<@U0BOB> may decide" in said
        assert "1.4.2" not in said


async def test_show_tells_of_a_timeout_as_of_nobodys_decision() -> None:
    async with on_stage() as on:
        run, _ = await on.park("curious")
        on.clock.move(timedelta(hours=25))
        await on.runtime.engine.sweeper.sweep()

        said = await typed(on, BOB, f"show {run.tickets[0].ref}")

        assert "Nobody decided; denied" in said


async def test_what_an_agent_asks_stays_inert_and_without_secrets_in_every_reply() -> None:
    def hostile(_: Ledger) -> list[Agent]:
        model = script([("ask_human", {"question": f"AKIAIOSFODNN7EXAMPLE {HOSTILE}"})])
        return [Agent(name="curious", model=model, tools=[ask_human])]

    async with on_stage(hostile) as on:
        run, _ = await on.park("curious")

        for text in ("list", f"show {run.ref}", f"show {run.tickets[0].ref}"):
            said = await typed(on, BOB, text)
            assert "<!channel>" not in said
            assert "|Approve>" not in said
            assert "\u202e" not in said
            assert "AKIA" not in said


def unlock(code: SecretStr) -> str:
    """Unlock."""
    return "done"


async def test_show_repeats_no_secret_that_the_run_was_given() -> None:
    def confident(_: Ledger) -> list[Agent]:
        words = "I used open-sesame."
        model = script([("unlock", {"code": "open-sesame"})], words)
        return [Agent(name="a", model=model, tools=[unlock])]

    async with on_stage(confident) as on:
        begun = await on.runtime.engine.start("a", "go", owner=BOB)
        run = await on.until_run(begun.run, lambda now: not now.live)

        said = await typed(on, BOB, f"show {run.ref}")

        assert "> I used " in said
        assert "hidden (11 characters)" in said
        assert "sesame" not in said


@pytest.mark.parametrize("text", ["list", "run deployer x", "show ZZZZZZ", "answer ZZZZZZ x"])
@pytest.mark.parametrize(
    "changed", [{"user_id": GUEST}, {"team_id": "T0OTHER"}, {"user_id": "U0ROBOT"}, {"user_id": ""}]
)
async def test_whoever_is_no_member_can_do_nothing_here(text: str, changed: dict[str, str]) -> None:
    async with on_stage() as on:
        said = await typed(on, BOB, text, **changed)

        assert said == "Only members of this workspace can use Holdshort here; nothing changed."
        assert (await on.runtime.engine.list_runs()).runs == ()


async def test_where_slack_does_not_say_who_types_nothing_is_done() -> None:
    async with on_stage() as on:
        await on.people.faults.plant(Fault(kind=FaultKind.TIMEOUT, method="users.info", times=None))

        said = await typed(on, BOB, "run deployer x")

        assert "Could not check who may decide" in said
        assert (await on.runtime.engine.list_runs()).runs == ()


async def test_replies_are_for_nobody_else() -> None:
    async with on_stage() as on:
        result = await on.people.slash(BOB, DEPLOYS, "help")

        assert result.body["response_type"] == "ephemeral"
        seen = (await on.people.state(CAROL))["channels"]
        assert not any("help" in m["text"] for c in seen for m in c["messages"])


def test_a_lost_outcome_is_told_where_to_settle_it() -> None:
    assert "`holdshort runs resolve K7F3QD` in a terminal" in not_a_question(
        lost_ticket(), FOR_SLACK
    )


async def test_a_run_ref_with_nothing_open_is_told_how_it_stands() -> None:
    async with on_stage() as on:
        run, card = await on.park("curious")
        await on.press(BOB, card, names.DECLINE)
        await on.until_run(run.id, lambda now: not now.live)

        said = await typed(on, BOB, f"answer {run.ref} CHG-7")

        assert said == f"Run {run.ref} is succeeded and waits on nothing; nothing changed."
        assert (await on.run(run.id)).status is RunStatus.SUCCEEDED
