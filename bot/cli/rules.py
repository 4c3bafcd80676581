"""``holdshort rules``: list the permission rules, and say what they make of a call."""

from typing import Annotated

import typer

app = typer.Typer(
    help="List the rules, check what they say of a call, revoke one that was remembered.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.callback()
def list_(context: typer.Context) -> None:
    """List the rules of HOLDSHORT_RULES, of the agents, and what is remembered of approvals."""
    if context.invoked_subcommand is None:
        from bot.cli.ruling import list_rules

        list_rules()


@app.command()
def check(
    tool: Annotated[str, typer.Argument(help="The tool's name.")],
    arguments: Annotated[
        str, typer.Argument(help="The call's arguments, with defaults.", metavar="JSON")
    ] = "{}",
    agent: Annotated[str, typer.Option(help="Of which agent; with its own rules.")] = "",
    owner: Annotated[
        str, typer.Option(help="For whose run; with the approvals that are remembered for them.")
    ] = "",
) -> None:
    """Say which rule decides about a call, and why; ends with 0 allow, 3 ask, 4 deny, 5 undecided."""
    from bot.cli.ruling import check_call

    raise typer.Exit(check_call(tool, arguments, agent, owner))


@app.command()
def revoke(
    rule: Annotated[str, typer.Argument(help="The id of a remembered rule.", metavar="ID")],
) -> None:
    """End a remembered rule before its time, as HOLDSHORT_OPERATOR."""
    from bot.cli.remembering import revoke_rule

    revoke_rule(rule)
