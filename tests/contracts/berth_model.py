"""What berths are to do, in the plainest way: a list of asks in the order in which they came."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.berths import Ask, BerthState, Count, Held
from engine.ids import ApprovalId


@dataclass
class Entry:
    """An ask, and how it stands."""

    ask: Ask
    state: BerthState
    held: Held | None = None


class BerthModel:
    """Berths in a list."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def find(self, approval: ApprovalId) -> Entry | None:
        return next((one for one in self.entries if one.ask.approval == approval), None)

    def count(self, name: str) -> Count:
        counting = [
            one.state is BerthState.WAITING
            for one in self.entries
            if name in {*dict(one.ask.within), *one.ask.told}
        ]
        return Count(counting.count(False), counting.count(True))

    def take(self, asks: Sequence[Ask]) -> tuple[Held, ...]:
        return tuple(held for ask in asks if (held := self._take(ask)) is not None)

    def _take(self, ask: Ask) -> Held | None:
        known = self.find(ask.approval)
        if known is not None:
            waits = known.state is BerthState.WAITING
            return (known.held or Held(ask.approval)) if waits else None
        if self.has_room(ask):
            self.entries.append(Entry(ask, BerthState.OPEN))
            return None
        full = [name for name, most in ask.within if self.count(name).open >= most]
        news = [name for name in ask.told if self.count(name).waiting == 0]
        held = Held(ask.approval, tuple(full), tuple(news))
        self.entries.append(Entry(ask, BerthState.WAITING, held))
        return held

    def has_room(self, ask: Ask) -> bool:
        first = next((one.ask for one in self.entries if one.state is BerthState.WAITING), None)
        needs = dict(first.within) if first is not None and first is not ask else {}
        return all(
            self.count(name).open < most and self.count(name).open + 1 != needs.get(name)
            for name, most in ask.within
        )

    def leave(self, approvals: Sequence[ApprovalId]) -> None:
        left = [one for one in self.entries if one.ask.approval not in approvals]
        if len(left) < len(self.entries):
            self.entries = left
            self.call()

    def call(self) -> None:
        waiting = [one for one in self.entries if one.state is BerthState.WAITING]
        for one in waiting:
            if self.has_room(one.ask):
                one.state = BerthState.CALLED
                self.call()
                return

    def settle(self, approvals: Sequence[ApprovalId]) -> None:
        for one in self.entries:
            if one.ask.approval in approvals and one.state is BerthState.CALLED:
                one.state = BerthState.OPEN

    def restore(self, opened: Sequence[Ask], waiting: Sequence[Ask]) -> tuple[ApprovalId, ...]:
        unknown = []
        for asks, fresh in ((opened, BerthState.OPEN), (waiting, BerthState.WAITING)):
            for ask in asks:
                known = self.find(ask.approval)
                if known is None:
                    unknown.append(ask.approval)
                    self.entries.append(Entry(ask, fresh))
                elif fresh is BerthState.OPEN:
                    known.state = fresh
                elif known.state is BerthState.OPEN:
                    known.state = BerthState.CALLED
        self.call()
        return tuple(unknown)

    def forget(self) -> None:
        self.entries = []
