"""The command line. Each command imports what it needs when it runs, so that this stays quick."""

import os
import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from bot.cli import purge, rules, runs, store

_PORT = 8786

app = typer.Typer(
    name="holdshort",
    help="Holds an agent's dangerous tool calls until a person clears them.",
    invoke_without_command=True,
    callback=runs.help_if_alone,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(runs.app, name="runs")
app.add_typer(rules.app, name="rules")
app.add_typer(store.app, name="store")

Ref = Annotated[str, typer.Argument(help="The six characters on the card.", metavar="REF")]
Edits = Annotated[
    str,
    typer.Option(
        "--with", help="Arguments to change, as one JSON object; the others stay.", metavar="JSON"
    ),
]
Reviewed = Annotated[
    str,
    typer.Option(
        help="The digest that you reviewed, or its first 8 characters: asks no more.",
        metavar="DIGEST",
    ),
]


class Decide(StrEnum):
    """What the people of the demo do."""

    APPROVE = "approve"
    DENY = "deny"
    IGNORE = "ignore"


@app.command()
def demo(
    *,
    decide: Annotated[
        Decide | None, typer.Option(help="Let the people act by themselves, then exit.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where the page is.")] = _PORT,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the scratch folder.")] = False,
) -> None:
    """Show one approval from end to end on this machine, with a small Slack of its own."""
    from bot.demo.play import DemoOptions, play

    raise typer.Exit(play(DemoOptions(decide=decide, port=port, keep=keep)))


@app.command()
def serve() -> None:
    """Serve Slack and advance runs, as the environment says."""
    from bot.cli.serving import serve as run

    raise typer.Exit(run())


@app.command()
def doctor(
    *, as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False
) -> None:
    """Look for whatever would keep the bot from its work, and say how to put it right."""
    from bot.cli.doctor import run_doctor

    raise typer.Exit(run_doctor(as_json=as_json))


@app.command()
def start(
    agent: Annotated[str, typer.Argument(help="Name of one of HOLDSHORT_AGENTS.")],
    text: Annotated[str, typer.Argument(help="What it is to do.", metavar="INPUT")],
    owner: Annotated[
        str, typer.Option(help="Whom it works for; HOLDSHORT_OPERATOR unless given.")
    ] = "",
    context: Annotated[
        str, typer.Option(help="JSON for its policies and tools.", metavar="JSON")
    ] = "null",
    key: Annotated[str, typer.Option(help="Idempotency key: a repeat returns the same run.")] = "",
) -> None:
    """Start a run; a serving process advances it."""
    from bot.cli.answers import start_run

    start_run(agent, text, owner=owner, context=context, key=key)


@app.command()
def approve(
    *,
    ref: Ref,
    edits: Edits = "",
    yes: Reviewed = "",
    remember: Annotated[
        str,
        typer.Option(help="Let calls like it run unasked for 1h, 8h, 1d or 7d.", metavar="SPAN"),
    ] = "",
    loose: Annotated[
        list[str] | None,
        typer.Option("--any", help="With --remember: this may be anything.", metavar="ARGUMENT"),
    ] = None,
    conversation: Annotated[
        bool, typer.Option("--conversation", help="With --remember: in this conversation only.")
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="This call alone, whatever others want remembered.")
    ] = False,
    agree: Annotated[
        bool, typer.Option("--agree", help="And to what others want remembered of it.")
    ] = False,
) -> None:
    """Approve a tool call, as it is or with edits, as HOLDSHORT_OPERATOR.

    A call of high risk, or one that is too large for its card, is shown whole first.
    """
    from bot.cli.answers import approve as record
    from bot.cli.answers import approve_with
    from bot.cli.remembering import check_together, read_wish
    from engine import Allow

    check_together(
        edits=bool(edits),
        remember=bool(remember),
        once=once,
        agree=agree,
        narrower="--any" if loose else "--conversation" if conversation else "",
    )
    if remember:
        wish = read_wish(remember, loose or (), conversation=conversation)
        record(ref, Allow(remember=wish), yes, heard=True)
    elif edits:
        approve_with(ref, edits, yes)
    else:
        # Once, unless it was said otherwise: a wish may come in just now that nobody here has seen.
        record(ref, Allow(once=not agree), yes, heard=once or agree)


@app.command()
def deny(
    ref: Ref,
    reason: Annotated[list[str] | None, typer.Argument(help="Told to the model.")] = None,
) -> None:
    """Deny a tool call, or decline a question, as HOLDSHORT_OPERATOR."""
    from bot.cli.answers import decide
    from engine import Deny

    decide(ref, Deny(reason=" ".join(reason or ())))


@app.command()
def answer(ref: Ref, text: Annotated[list[str], typer.Argument(help="Your answer.")]) -> None:
    """Answer a question, as HOLDSHORT_OPERATOR."""
    from bot.cli.answers import decide
    from engine import Answer

    decide(ref, Answer(value=" ".join(text)))


@app.command()
def slack(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where the page is.")] = _PORT,
) -> None:
    """Run the local Slack alone, to serve your own agents against."""
    from bot.cli.serving import serve_local_slack

    raise typer.Exit(serve_local_slack(port))


@app.command()
def gallery(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where the page is.")] = _PORT,
    out: Annotated[
        Path | None, typer.Option(help="Write the Block Kit of each as JSON instead.")
    ] = None,
) -> None:
    """Show every state of a card, and every form, side by side on this machine."""
    from bot.gallery.showing import show, write

    raise typer.Exit(show(port) if out is None else write(out))


@app.command()
def manifest(
    url: Annotated[
        str, typer.Option(help="Public https address of the bot: prints the HTTP form.")
    ] = "",
) -> None:
    """Print the Slack app's manifest."""
    from bot.manifest import manifest_text

    sys.stdout.write(manifest_text(url))


app.command()(purge.purge)


def main() -> None:
    """Run a command; whatever goes wrong is one clear line on standard error."""
    if sys.stdout is None:  # closed by whoever started us
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - till the end
    if any(re.search("[\ud800-\udfff]", word) for word in sys.argv):
        fail("an argument is no UTF-8 text", 2)
    try:
        status = app(standalone_mode=False)
    except TyperException as error:
        fail(f"{error.format_message().rstrip('.')}; see holdshort --help", error.exit_code)
    except Exception as error:  # noqa: BLE001 - people get a line, never a traceback
        from bot.cli.errors import explain

        fail(*explain(error))
    sys.exit(status or 0)


def fail(text: str, status: int) -> NoReturn:
    """Say why on standard error, and end."""
    sys.stderr.write(f"holdshort: {text}\n")
    sys.exit(status)
