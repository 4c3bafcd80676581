"""What the examination says of a workspace, a store and settings in every wrong state."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from bot.doctor import examine
from bot.doctor_findings import Level
from bot.local_slack import App, Fault, FaultKind, LocalSlack
from bot.manifest import SCOPES
from engine.ids import utc_now
from engine.stores import SqliteStore
from tests.bot.doctor.examined import (
    OWN,
    Set,
    failure,
    look,
    warning,
    write_agents,
)
from tests.bot.stage import ALICE, BOB, GONE, GUEST, OUTSIDER, RESUME_SECRET, ROBOT


async def test_where_all_is_well_nothing_is_wrong_and_everything_is_told(given: Set) -> None:
    found = await examine()

    assert {finding.level for finding in found} == {Level.OK}
    assert [finding.check for finding in found] == [
        *("settings", "resume secrets", "store", "agents", "slack token", "clock", "scopes"),
        *("way in", "sockets", "channel", "approvers", "operator"),
    ]
    assert not [finding for finding in found if finding.remedy]


async def test_nothing_is_posted_and_no_socket_is_opened(given: Set, slack: LocalSlack) -> None:
    await examine()

    asked = {call.method for call in slack.calls.select()}
    assert asked == {"auth.test", "apps.connections.open", "conversations.info", "users.info"}
    assert not slack.sockets.connected


async def test_no_secret_and_no_token_is_repeated(given: Set, slack: LocalSlack) -> None:
    (Path.cwd() / "leaky.py").write_text(
        "import os\n"
        "named = ('SLACK_BOT_TOKEN', 'SLACK_APP_TOKEN', 'HOLDSHORT_RESUME_SECRETS')\n"
        "raise RuntimeError([os.environ[name] for name in named])\n"
    )
    given(HOLDSHORT_AGENTS="leaky:agents")

    said = json.dumps([f"{one.text} {one.remedy}" for one in await examine()])

    assert "RuntimeError" in said
    for secret in (slack.bot_token, slack.app_token, RESUME_SECRET):
        assert secret not in said


# Settings.


async def test_every_setting_that_is_missing_is_named_with_how_to_get_it(
    given: Set, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLACK_APP_TOKEN")
    monkeypatch.delenv("HOLDSHORT_AGENTS")

    wrong = await look("settings")

    assert [one.text for one in wrong] == [
        "SLACK_APP_TOKEN is not set",
        "HOLDSHORT_AGENTS is not set",
    ]
    assert "connections:write" in wrong[0].remedy


async def test_the_rest_is_looked_at_though_a_setting_is_missing(
    given: Set, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLACK_APP_TOKEN")

    assert "slack token" in {one.check for one in await examine()}


async def test_a_channel_by_its_name_is_told_with_where_its_id_is(given: Set) -> None:
    given(HOLDSHORT_SLACK_CHANNEL="#deploys")

    first, *_ = await look("settings")

    assert first.text == "HOLDSHORT_SLACK_CHANNEL is '#deploys', no id of a channel"
    assert first.remedy == "set its id (C...), from the foot of its details in Slack"


async def test_settings_that_cannot_be_read_end_the_examination(given: Set) -> None:
    given(HOLDSHORT_PORT="many")

    assert {one.check for one in await examine()} == {"settings"}


async def test_a_secret_made_by_hand_is_noticed(given: Set) -> None:
    given(HOLDSHORT_RESUME_SECRETS="abcdabcdabcdabcdabcdabcdabcdabcd")

    assert await warning("resume secrets") == "one looks made by hand"


async def test_secrets_that_nobody_took_away_are_noticed(given: Set) -> None:
    given(HOLDSHORT_RESUME_SECRETS=",".join(f"{number}{RESUME_SECRET}" for number in range(4)))

    assert await warning("resume secrets") == "more than a rotation needs"


async def test_agents_that_do_not_load_are_told_with_the_reason(given: Set) -> None:
    given(HOLDSHORT_AGENTS="nowhere:agents")

    assert "No module named 'nowhere'" in await failure("agents")


async def test_two_agents_of_one_name_are_a_failure(given: Set, tmp_path: Path) -> None:
    (tmp_path / "twins.py").write_text(
        "from engine import Agent\nagents = [Agent(name='a', model='test')] * 2\n"
    )
    given(HOLDSHORT_AGENTS="twins:agents")

    assert "two agents are named 'a'" in await failure("agents")


async def test_a_model_that_cannot_be_asked_is_a_failure(given: Set, tmp_path: Path) -> None:
    module = write_agents(tmp_path, "silent", f"approvers=['{ALICE}']")
    path = tmp_path / "silent.py"
    path.write_text(path.read_text().replace("model='test'", "model='nosuch:model'"))
    given(HOLDSHORT_AGENTS=module)

    assert await failure("agents") == (
        "agent agent0: the model 'nosuch:model' cannot be asked: Unknown model: nosuch:model"
    )


async def test_the_rules_are_read_and_faults_told(given: Set, tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text("[[rule]]\nverdict = 'deny'\ntool = 'x'\n")
    given(HOLDSHORT_RULES=str(tmp_path / "rules.toml"))
    said = [one.text for one in await examine() if one.check == "rules"]
    assert said == ["1 rule in rules.toml; what none matches: allow"]
    (tmp_path / "rules.toml").write_text("default = 'maybe'")
    assert "rules.toml:1:1: default is 'maybe'" in await failure("rules")


async def test_no_agents_at_all_are_a_failure(given: Set, tmp_path: Path) -> None:
    given(HOLDSHORT_AGENTS=write_agents(tmp_path, "none"))

    assert (await failure("agents")).endswith(" holds no Agent")


# The store.


async def test_a_store_in_memory_is_worth_a_warning(given: Set) -> None:
    given(HOLDSHORT_STORE_URL="memory:")

    assert (await warning("store")).startswith("in memory")


async def test_a_store_that_is_there_is_read(given: Set, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "holdshort.db")
    await store.next_due()
    await store.close()

    (finding,) = [one for one in await examine() if one.check == "store"]

    assert finding.text.endswith("0 queued, 0 running, 0 waiting, 0 cards due")


async def test_an_examination_makes_no_store(given: Set, tmp_path: Path) -> None:
    given(HOLDSHORT_STORE_URL=f"sqlite:///{tmp_path / 'new' / 'holdshort.db'}")

    assert await look("store") == []
    assert not (tmp_path / "new").exists()


async def test_a_place_where_no_store_can_be_made_is_a_failure(given: Set, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    given(HOLDSHORT_STORE_URL=f"sqlite:///{tmp_path / 'file' / 'holdshort.db'}")

    assert "cannot be made in" in await failure("store")


async def test_a_file_of_something_else_is_a_failure(given: Set, tmp_path: Path) -> None:
    (tmp_path / "holdshort.db").write_text("not a database, and quite long enough to tell" * 20)
    (tmp_path / "holdshort.db").chmod(0o600)

    assert "is not a Holdshort store" in await failure("store")


async def test_a_folder_in_place_of_the_store_is_a_failure(given: Set, tmp_path: Path) -> None:
    (tmp_path / "holdshort.db").mkdir(mode=0o700)

    assert "does not answer" in await failure("store")


async def test_a_store_that_others_may_read_is_worth_a_warning(given: Set, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "holdshort.db")
    await store.next_due()
    await store.close()
    (tmp_path / "holdshort.db").chmod(0o640)

    assert "is open to other users" in await warning("store")


# Slack.


async def test_a_refused_token_is_told_and_nothing_more_is_asked(
    given: Set, slack: LocalSlack
) -> None:
    given(SLACK_BOT_TOKEN="xoxb-another-0123456789")

    assert await failure("slack token") == "Slack refuses SLACK_BOT_TOKEN: invalid_auth"
    assert [call.method for call in slack.calls.select()] == ["auth.test"]


async def test_a_slack_that_does_not_answer_is_told_by_its_address(
    given: Set, slack: LocalSlack
) -> None:
    slack.faults.plant(Fault(kind=FaultKind.DROP_BEFORE, method="auth.test", times=None))

    text = await failure("slack token")

    assert text.startswith(f"{slack.api_url}: no answer")


@pytest.mark.parametrize(
    ("seconds", "level", "way"),
    [
        (-300, Level.FAILURE, "behind"),
        (-75, Level.FAILURE, "behind"),
        (-30, Level.WARNING, "behind"),
        (30, Level.WARNING, "ahead of"),
        (75, Level.FAILURE, "ahead of"),
    ],
)
async def test_a_clock_that_is_off_is_told(
    given: Set, seconds: int, level: Level, way: str
) -> None:
    found = await examine(lambda: utc_now() + timedelta(seconds=seconds))

    (clock,) = [one for one in found if one.check == "clock"]
    assert clock.level is level
    assert f" s {way} Slack's" in clock.text
    assert bool(clock.remedy)


async def test_a_missing_scope_is_named(given: Set, slack: LocalSlack) -> None:
    slack.world.app = App(scopes=frozenset(SCOPES) - {"im:write"})

    assert await failure("scopes") == "missing: im:write"


async def test_a_scope_too_many_is_named(given: Set, slack: LocalSlack) -> None:
    slack.world.app = App(scopes=frozenset({*SCOPES, "channels:read", "channels:history"}))

    assert (await warning("scopes")).endswith(": channels:history")


async def test_a_refused_app_token_is_told(given: Set) -> None:
    given(SLACK_APP_TOKEN="xapp-1-another-0123456789")

    assert await failure("way in") == "Slack refuses SLACK_APP_TOKEN: invalid_auth"


async def test_over_http_no_app_token_is_tried(given: Set, slack: LocalSlack) -> None:
    given(HOLDSHORT_SLACK_MODE="http", SLACK_SIGNING_SECRET="5f0c9d8e7a6b")

    found = await examine()

    assert {one.level for one in found} == {Level.OK}
    assert not slack.calls.select("apps.connections.open")
    assert "sockets" not in {one.check for one in found}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("C0NOWHERE", "C0NOWHERE: channel_not_found"),
        ("C0PRIVATE", "C0PRIVATE: channel_not_found"),
    ],
)
async def test_a_channel_that_is_not_there_is_a_failure(given: Set, name: str, says: str) -> None:
    given(HOLDSHORT_SLACK_CHANNEL=name)

    assert (await failure("channel")).endswith(says)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"is_archived": True}, "C0OWN (#own) is archived"),
        ({"members": (ALICE,)}, "the bot is not in C0OWN (#own)"),
    ],
)
async def test_a_channel_that_takes_no_cards_is_a_failure(
    given: Set, slack: LocalSlack, change: dict[str, object], says: str
) -> None:
    slack.world.put_channel(OWN.model_copy(update=change))

    assert await failure("channel") == says


async def test_a_shared_channel_is_worth_a_warning(given: Set, slack: LocalSlack) -> None:
    slack.world.put_channel(OWN.model_copy(update={"is_ext_shared": True}))

    assert "is shared with others" in await warning("channel")


async def test_without_the_scope_a_channel_is_not_looked_at(given: Set, slack: LocalSlack) -> None:
    slack.world.app = App(scopes=frozenset(SCOPES) - {"channels:read", "groups:read"})

    (found,) = [one for one in await examine() if one.check == "channel"]
    assert found.level is Level.WARNING
    assert "cannot be looked at without a scope" in found.text


async def test_no_channel_is_fine(given: Set) -> None:
    given(HOLDSHORT_SLACK_CHANNEL="")

    assert await look("channel") == []


@pytest.mark.parametrize(
    ("person", "says"),
    [
        (GUEST, "is a guest, and guests are refused"),
        (ROBOT, "is a bot, and bots are refused"),
        (OUTSIDER, "is of another workspace, and outsiders are refused"),
        (GONE, "is deactivated"),
        ("U0NOBODY", "is nobody that Slack knows"),
    ],
)
async def test_an_approver_or_an_operator_who_could_not_decide_is_a_failure(
    given: Set, tmp_path: Path, person: str, says: str
) -> None:
    agents = write_agents(tmp_path, f"of_{person}", f"approvers=['{BOB}', '{person}']")
    given(HOLDSHORT_AGENTS=agents)
    assert await failure("approvers") == f"agent agent0: {person} {says}"

    given(HOLDSHORT_AGENTS=write_agents(tmp_path, "owner_decides", ""), HOLDSHORT_OPERATOR=person)
    assert await failure("operator") == f"HOLDSHORT_OPERATOR, {person}, {says}"


async def test_a_slack_that_cannot_tell_who_people_are_is_told(
    given: Set, slack: LocalSlack
) -> None:
    slack.faults.plant(Fault(kind=FaultKind.ERROR, method="users.info", error="fatal_error"))

    assert await failure("approvers") == (
        f"agent agent0: {ALICE} cannot be looked up: users.info: fatal_error"
    )
