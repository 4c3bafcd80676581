"""The port in a few plain lists: what a store must be indistinguishable from."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from engine.cards import Card, CardKey, Receipt
from engine.errors import ClaimLostError, CommitConflictError, StoreError
from engine.ids import RunId
from engine.runs import Run, RunStatus
from engine.store import CARDS_KEEP_FOR, Change, Claim, ClaimEffect
from tests.factories import HeldClock

Refusal = type[StoreError]
_MICROSECOND = timedelta(microseconds=1)


@dataclass
class ModelRun:
    run: Run
    order: int
    ready_at: datetime
    worker: str | None = None
    fence: int = 0
    losses: int = 0

    def holds(self, claim: Claim) -> bool:
        return self.worker is not None and self.fence == claim.fence


@dataclass
class ModelCard:
    key: CardKey
    wanted: int
    due_at: datetime
    shown: int = 0
    receipt: Receipt | None = None
    attempts: int = 0
    fence: int = 0
    leased: bool = False

    @property
    def behind(self) -> bool:
        return self.wanted > self.shown

    @property
    def empty(self) -> bool:
        return self.receipt is None or not self.receipt.shown

    def card(self) -> Card:
        return Card(
            key=self.key,
            wanted=self.wanted,
            shown=self.shown,
            receipt=self.receipt,
            attempts=self.attempts,
            fence=self.fence,
        )


@dataclass
class Model:
    clock: HeldClock
    runs: dict[RunId, ModelRun] = field(default_factory=dict)
    holds: dict[str, RunId] = field(default_factory=dict)
    cards: list[ModelCard] = field(default_factory=list)
    commits: dict[str, RunId] = field(default_factory=dict)
    made: int = 0

    # Commits.

    def commit(self, change: Change, claim: Claim | None) -> Refusal | bool:
        """Return why the change is refused, or whether it was there already."""
        known = self.runs.get(change.run.id)
        if change.commit in self.commits:
            return True
        if (known.run.version if known else 0) != change.expected:
            return CommitConflictError
        if known and claim and not known.holds(claim):
            return ClaimLostError
        self.commits[change.commit] = change.run.id
        now = self.clock.now
        if known is None:
            self.made += 1
            known = ModelRun(change.run, self.made, now)
            self.runs[change.run.id] = known
        self._move(known, change, claim)
        for key in change.raised:
            self._raise(key, change.run.version)
        return False

    def _move(self, known: ModelRun, change: Change, claim: Claim | None) -> None:
        known.run = change.run
        if claim:
            known.losses = 0
        frees = change.claim is ClaimEffect.RELEASE or not change.run.live
        if frees or known.worker is None:
            known.ready_at = self.clock.now
        if frees:
            known.worker = None
        if not change.run.live and self.holds.get(change.run.concurrency_key) == change.run.id:
            del self.holds[change.run.concurrency_key]

    def _raise(self, key: CardKey, wanted: int) -> None:
        posts = self.posts(key)
        for post in posts:
            post.wanted = wanted
        if not posts:
            self.cards.append(ModelCard(key, wanted, self.clock.now))

    # Claims.

    def claim(self, worker: str, lease: timedelta) -> ModelRun | None:
        ready = [run for run in self.runs.values() if self._claimable(run)]
        if not ready:
            return None
        taken = min(ready, key=lambda one: (-one.run.priority, one.ready_at, one.order))
        taken.losses += taken.worker is not None
        taken.fence += 1
        taken.worker = worker
        taken.ready_at = self.clock.now + lease
        if taken.run.concurrency_key:
            self.holds[taken.run.concurrency_key] = taken.run.id
        return taken

    def _claimable(self, one: ModelRun) -> bool:
        return self._in_turn(one) and one.ready_at <= self.clock.now

    def _in_turn(self, one: ModelRun) -> bool:
        holder = self.holds.get(one.run.concurrency_key, one.run.id)
        return one.run.status is RunStatus.QUEUED and holder == one.run.id

    def extend(self, claim: Claim, lease: timedelta) -> bool:
        known = self.runs.get(claim.run)
        if known is None or not known.holds(claim):
            return False
        known.ready_at = self.clock.now + lease
        return True

    def release(self, claim: Claim, retry_at: datetime | None) -> None:
        known = self.runs.get(claim.run)
        if known is not None and known.holds(claim):
            known.worker, known.ready_at = None, retry_at or self.clock.now
            known.losses += retry_at is not None

    def purge(self, older_than: datetime, limit: int) -> int:
        ended = [run for run in self.runs.values() if self._may_go(run, older_than)]
        ended.sort(key=lambda one: (one.ready_at, one.order))
        gone = {one.run.id for one in ended[:limit]}
        self.runs = {name: run for name, run in self.runs.items() if name not in gone}
        self.commits = {name: run for name, run in self.commits.items() if run not in gone}
        self.cards = [card for card in self.cards if card.key.run not in gone]
        return len(gone)

    def _may_go(self, one: ModelRun, older_than: datetime) -> bool:
        untold = any(card.behind for card in self.cards if card.key.run == one.run.id)
        than = older_than - CARDS_KEEP_FOR if untold else older_than
        return not one.run.live and one.ready_at < than

    def due(self) -> set[RunId]:
        return {
            run.run.id
            for run in self.runs.values()
            if run.run.deadline and run.run.deadline < self.clock.now
        }

    def next_due(self) -> datetime | None:
        now = self.clock.now
        runs = self.runs.values()
        moments = [one.run.deadline + _MICROSECOND for one in runs if one.run.deadline]
        moments += [one.ready_at for one in runs if self._in_turn(one) and one.ready_at > now]
        moments += [card.due_at for card in self.cards if card.behind]
        return min(moments, default=None)

    # Cards.

    def posts(self, key: CardKey) -> list[ModelCard]:
        base = key.model_copy(update={"duplicate": ""})
        return [c for c in self.cards if c.key.model_copy(update={"duplicate": ""}) == base]

    def of(self, key: CardKey) -> ModelCard:
        return next(card for card in self.cards if card.key == key)

    def take(self, lease: timedelta) -> list[Card]:
        """Lease all that are due; return them as a courier is given them."""
        due = [card for card in self.cards if card.behind and card.due_at <= self.clock.now]
        given = []
        for card in sorted(due, key=lambda card: card.due_at):
            card.fence += 1
            card.leased = True
            card.due_at = self.clock.now + lease
            given.append(card.card())
            card.attempts += 1
        return given

    def show(self, card: Card, version: int, receipt: Receipt) -> None:
        if card.key.run not in self.runs:
            return
        known = self.of(card.key)
        if known.fence != card.fence:
            self.keep(card.key, receipt)
            return
        before = known.receipt
        known.shown = max(known.shown, version)
        known.due_at, known.attempts, known.leased = self.clock.now, 0, False
        if receipt.shown or known.receipt is None:
            known.receipt = receipt
        if before and before != card.receipt:
            self.keep(card.key, before)

    def fail(self, card: Card, retry_at: datetime) -> None:
        if card.key.run not in self.runs:
            return
        known = self.of(card.key)
        if known.leased and known.fence == card.fence:
            known.leased, known.due_at = False, retry_at

    def keep(self, key: CardKey, receipt: Receipt) -> None:
        """Give a message a row, unless it has one or is none."""
        posts = self.posts(key)
        if not posts or not receipt.shown or receipt in [post.receipt for post in posts]:
            return
        first = next(post for post in posts if not post.key.duplicate)
        if first.empty:
            first.receipt, first.shown = receipt, 0
            return
        name = f"{receipt.place}/{receipt.id}"
        if name in [post.key.duplicate for post in posts]:
            name = f"{name}#{len(posts)}"
        named = first.key.model_copy(update={"duplicate": name})
        self.cards.append(ModelCard(named, first.wanted, self.clock.now, receipt=receipt))
