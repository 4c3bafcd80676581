"""Looking at runs from the terminal, and cancelling one."""

from bot.cli.screen import Screen, event_as_json, print_ending, print_run, print_runs, run_as_json
from bot.cli.terminal import Terminal, at_terminal
from bot.settings import Purpose, SettingsError
from engine import Run, RunStatus, Via
from engine.cards import TicketNotice
from engine.ids import REF_LENGTH, normalise_ref
from engine.store import RunFilter


def list_runs(
    statuses: tuple[str, ...], *, agent: str, owner: str, limit: int, as_json: bool
) -> None:
    """Print the newest runs that pass the filter."""
    wanted = RunFilter(statuses=_read_statuses(statuses), agent=agent, owner=owner)

    async def work(terminal: Terminal) -> None:
        runs = (await terminal.engine.list_runs(wanted, limit)).runs
        screen = Screen()
        if as_json:
            screen.json([run_as_json(run) for run in runs])
        else:
            print_runs(screen, [(run, await terminal.engine.ending(run)) for run in runs])

    at_terminal(work, Purpose.LOOK)


def show_run(ref: str, *, as_json: bool) -> None:
    """Print one run with what it waits for and what happened."""

    async def work(terminal: Terminal) -> None:
        run = await terminal.engine.get_run(ref)
        events = await terminal.engine.events(run.id)
        screen = Screen()
        if as_json:
            told = [event_as_json(event) for event in events]
            screen.json({**run_as_json(run), "events": told})
        else:
            notices = await _notices(terminal, ref, run)
            print_run(screen, run, notices, events)
            print_ending(screen, run, await terminal.engine.ending(run))

    at_terminal(work, Purpose.LOOK)


def cancel_run(ref: str) -> None:
    """Cancel a run as the operator, or ask for it where a tool runs."""

    async def work(terminal: Terminal) -> None:
        run = await terminal.engine.get_run(ref)
        after = await terminal.engine.cancel(run.id, actor=terminal.operator)
        done = after.status is RunStatus.CANCELLED
        told = "cancelled." if done else "to be cancelled once its tool has ended."
        Screen().line(f"Run {after.ref}: {told}")

    at_terminal(work)


async def _notices(terminal: Terminal, ref: str, run: Run) -> list[TicketNotice]:
    """Return the tickets that are open, and one that was named though it is closed."""
    refs = [ticket.ref for ticket in run.tickets]
    named = normalise_ref(ref)
    if len(named) == REF_LENGTH and named not in {run.ref, *refs}:
        refs.append(named)
    tokens = [await terminal.engine.token_for(ref, Via.TERMINAL) for ref in refs]
    return [await terminal.engine.notice(token, Via.TERMINAL) for token in tokens]


def _read_statuses(names: tuple[str, ...]) -> tuple[RunStatus, ...]:
    known = [status.value for status in RunStatus if status is not RunStatus.RUNNING]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SettingsError([f"--status {unknown[0]}: there are: {', '.join(known)}"])
    return tuple(RunStatus(name) for name in names)
