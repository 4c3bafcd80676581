"""``holdshort runs``: list, show, cancel, and settle what nobody knows."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from engine import Settle


def help_if_alone(context: typer.Context) -> None:
    """Print what there is where no command is named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app = typer.Typer(
    help="Look at runs, cancel one, settle a lost outcome.",
    invoke_without_command=True,
    callback=help_if_alone,
    rich_markup_mode=None,
)

Ref = Annotated[str, typer.Argument(help="A run's or a ticket's ref, or a run's id.")]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


@app.command("list")
def list_(
    *,
    status: Annotated[
        list[str] | None,
        typer.Option(help="Only these: queued, waiting, succeeded, failed, cancelled."),
    ] = None,
    agent: Annotated[str, typer.Option(help="Only this agent's.")] = "",
    owner: Annotated[str, typer.Option(help="Only this person's.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first."""
    from bot.cli.looks import list_runs

    list_runs(tuple(status or ()), agent=agent, owner=owner, limit=limit, as_json=as_json)


@app.command()
def show(*, ref: Ref, as_json: AsJson = False) -> None:
    """Show a run: what it waits for, with all arguments, and what happened so far."""
    from bot.cli.looks import show_run

    show_run(ref, as_json=as_json)


@app.command()
def cancel(ref: Ref) -> None:
    """Cancel a run, as HOLDSHORT_OPERATOR."""
    from bot.cli.looks import cancel_run

    cancel_run(ref)


@app.command()
def resolve(
    *,
    ref: Annotated[str, typer.Argument(help="The ref of the ticket.", metavar="REF")],
    happened: Annotated[
        str | None, typer.Option(metavar="VALUE", help="It did; the model is told VALUE.")
    ] = None,
    not_happened: Annotated[
        bool, typer.Option("--not-happened", help="It did not: run it now.")
    ] = False,
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Nobody knows: give the call up.")
    ] = False,
) -> None:
    """Settle a call whose outcome was lost, as HOLDSHORT_OPERATOR."""
    from bot.cli.answers import decide

    decide(ref, _settlement(happened, not_happened=not_happened, abandon=abandon))


def _settlement(happened: str | None, *, not_happened: bool, abandon: bool) -> "Settle":
    from engine import Settle

    if (happened is not None) + not_happened + abandon != 1:
        raise typer.BadParameter("say one of --happened VALUE, --not-happened, --abandon")
    if happened is not None:
        return Settle(outcome="happened", value=happened)
    return Settle(outcome="not_happened" if not_happened else "abandon")
