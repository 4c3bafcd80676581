"""Where things are in Redis: places, and the names of the keys in each.

All keys of a place share its hash tag, and so a Cluster slot: whatever belongs to one run, and the
indexes it stands in, can be changed by one script.
"""

import hashlib
import json
from dataclasses import dataclass

from engine.entries import Record
from engine.errors import StoreError
from engine.ids import Ref, RunId
from engine.store import KeyRecord

PLACES = "0123456789abcdef"
"""The places, fixed for good. Each is a letter that run ids begin with; refs too, in upper case."""

CHANNEL = "holdshort:bell"
"""Where processes tell each other that work came up. The one name without a hash tag."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place: a hash tag, and the keys under it."""

    letter: str

    def key(self, *name: str) -> str:
        """Return the name of a key here."""
        return f"{{hs:{self.letter}}}:{':'.join(name)}"

    def start_key(self, key: KeyRecord) -> str:
        """Return where the record of a start's key is kept; keys may be of any length."""
        named = hashlib.blake2b(json.dumps([key.scope, key.key]).encode(), digest_size=16)
        return self.key("start", named.hexdigest())


BERTHS = Place("z")
"""Where the berths are, whichever place the runs are in that have them."""

EVERYWHERE = tuple(Place(letter) for letter in PLACES)
RULES = Place("r")
"""The place of the remembered rules, all of them. No run's id begins with this letter."""


def place_of_run(run: RunId) -> Place | None:
    """Return where a run of that id would be; None for an id that no run here can have."""
    return Place(run[0]) if run[:1] in PLACES and run else None


def home_of(run: RunId) -> Place:
    """Return where a run is to be written.

    Raises:
        StoreError: its id names no place.

    """
    place = place_of_run(run)
    if place is None:
        raise StoreError(
            f"run {run} cannot live here: its id names no place, so an earlier Holdshort made it"
        )
    return place


def place_of_ref(ref: Ref) -> Place | None:
    """Return where a ref would be known; None for one that was not minted by this store."""
    return Place(ref[0].lower()) if ref and ref[0].lower() in PLACES else None


def name_of_record(record: Record) -> str:
    """Return the name of a record among the facts of its run."""
    return f"r{record.entry}.{record.kind.value}.{record.index}"


def name_of_ticket(approval: str) -> str:
    """Return the name of a closed ticket among the facts of its run."""
    return f"t{approval}"


def name_of_key(key: str) -> str:
    """Return the name of a key's record among the facts of its run."""
    return f"k{key}"


def scope_of(run: RunId) -> str:
    """Return the scope of the keys that are kept with a run."""
    return f"run:{run}"
