"""Denials: how often people said no in a run, and when the model is not to ask any more."""

from dataclasses import dataclass

from engine.runs import Denial, Run, ToolCall

_INSTEAD = "it will not be asked again in this run: do something else, or say what you could not do"


@dataclass(frozen=True, slots=True)
class Patience:
    """How many denials in one run are enough; None is never.

    ``same`` counts those of one call (tool and arguments), ``tool`` those of all calls of a tool.
    Silence until the deadline is a denial.
    """

    same: int | None = None
    tool: int | None = None


ENDLESS = Patience()


@dataclass(frozen=True, slots=True)
class Enough:
    """Why a call is not asked: so many denials, and what the model is told."""

    denials: int
    told: str


def enough(run: Run, call: ToolCall, patience: Patience) -> Enough | None:
    """Return why a call is not to be asked; None where it may be."""
    same = sum(one.count for one in run.denials if one.digest == call.digest)
    if patience.same is not None and same >= patience.same:
        return Enough(
            same, f"blocked: people have denied this very call {_times(same)}; {_INSTEAD}"
        )
    tool = sum(one.count for one in run.denials if one.tool == call.tool)
    if patience.tool is not None and tool >= patience.tool:
        told = f"blocked: people have denied calls of {call.tool} {_times(tool)}; {_INSTEAD}"
        return Enough(tool, told)
    return None


def with_denial(denials: tuple[Denial, ...], call: ToolCall) -> tuple[Denial, ...]:
    """Return the denials of a run with one more, of this call as the model proposed it."""
    digest = call.edited.original if call.edited else call.digest
    known = next((one for one in denials if one.digest == digest), None)
    count = known.count + 1 if known else 1
    others = tuple(one for one in denials if one.digest != digest)
    return (*others, Denial(tool=call.tool, digest=digest, count=count))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
