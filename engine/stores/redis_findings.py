"""What may be wrong with a server, and what of it keeps a store from being used."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from engine.errors import StoreUnfitError


class Check(StrEnum):
    """What was looked at."""

    APPEND_ONLY = "append_only"
    FSYNC = "fsync"
    EVICTION = "eviction"
    VERSION = "version"
    ROLE = "role"
    CLOCK = "clock"
    IDENTITY = "identity"
    CLUSTER = "cluster"
    RIGHTS = "rights"
    REPLICAS = "replicas"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a server.

    Attributes:
        problem: What is the case, in a clause.
        remedy: What to do about it.
        refuses: Whether the store must not be used; if not, this is a warning.

    """

    check: Check
    problem: str
    remedy: str
    refuses: bool = True

    def __str__(self) -> str:
        """Return it as a line."""
        return f"{self.problem}: {self.remedy}"


def refuse_unfit(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings that only warn.

    Raises:
        StoreUnfitError: some refuse; each of those is one of its lines.

    """
    all_of_them = tuple(findings)
    refusals = [str(finding) for finding in all_of_them if finding.refuses]
    if refusals:
        raise StoreUnfitError(refusals)
    return all_of_them
