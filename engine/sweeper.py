"""The sweeper: silence past a deadline becomes a denial."""

from engine.errors import (
    CommitConflictError,
    DeadlineNotReachedError,
    RunNotFoundError,
    UndecodableRecordError,
)
from engine.ids import RunId, Surroundings
from engine.lifecycle.answer import expire
from engine.store import Store

BATCH = 100


class Sweeper:
    """Times out tickets. Any number may sweep the same store."""

    def __init__(self, store: Store, surroundings: Surroundings) -> None:
        """Take the store to sweep."""
        self._store = store
        self._surroundings = surroundings

    async def sweep(self) -> int:
        """Deny every late ticket of up to 100 runs; return in how many runs there were some."""
        runs = await self._store.due(BATCH)
        return sum([await self._expire(run) for run in runs])

    async def _expire(self, run_id: RunId) -> bool:
        try:
            loaded = await self._store.load(run_id)
            # The store's clock decides what is late; it decides again inside the commit.
            moment = self._surroundings.moment()
            change = expire(loaded.run, type(moment)(loaded.now, moment.ids))
            if change is None:
                return False
            await self._store.commit(change)
        except (CommitConflictError, DeadlineNotReachedError):
            # Somebody answered, or moved the deadline, in between: nothing is late any more.
            return False
        except (RunNotFoundError, UndecodableRecordError):
            return False
        return True
