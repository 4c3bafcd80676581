"""Is the store there, can it be read, and is it kept from others?"""

import os
from datetime import timedelta
from pathlib import Path

from bot.doctor_findings import Finding, failure, ok, warning
from bot.settings import Durability, Settings
from engine.errors import ConfigurationError, HoldshortError, StoreUnavailableError
from engine.ids import Clock
from engine.stores import SqliteStore
from engine.stores.redis_address import RedisAddress

CHECK = "store"
_PATIENCE = timedelta(seconds=2)
_OTHERS = 0o077


async def check_store(settings: Settings, clock: Clock) -> list[Finding]:
    """Open the store of the settings, and make none where there is none yet."""
    match settings.store_place:
        case Path() as path if path.exists():
            return [await _check_file(path, clock), *_check_privacy(path)]
        case Path() as path:
            return [_check_place(path)]
        case RedisAddress() as address:
            return await _check_servers(address, settings, clock)
        case None:
            in_memory = "in memory: every run is gone when the process ends"
            return [
                warning(CHECK, in_memory, "set HOLDSHORT_STORE_URL to sqlite:////absolute/path")
            ]


async def _check_servers(address: RedisAddress, settings: Settings, clock: Clock) -> list[Finding]:
    # As in bot/stores.py: redis-py takes long to import.
    from engine.stores.redis_checks import Wanted, examine  # noqa: PLC0415
    from engine.stores.redis_connection import open_writer  # noqa: PLC0415

    wanted = Wanted(
        settings.durability is Durability.RELAXED, settings.store_id, settings.store_replicas
    )
    client = open_writer(address)
    try:
        wrong = await examine(client, wanted, clock)
    except StoreUnavailableError as error:
        return [failure(CHECK, f"{address}: {error}", "start it, or put HOLDSHORT_STORE_URL right")]
    finally:
        await client.aclose()
    told = [
        (failure if one.refuses else warning)(CHECK, f"{address}: {one.problem}", one.remedy)
        for one in wrong
    ]
    return told or [ok(CHECK, f"{address} keeps what it is given")]


def _check_place(path: Path) -> Finding:
    nearest = next(folder for folder in path.absolute().parents if folder.exists())
    if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
        return ok(CHECK, f"{path} is not there yet; the first start makes it")
    return failure(
        CHECK,
        f"{path} is not there and cannot be made in {nearest}",
        f"let this user write to {nearest}, or set HOLDSHORT_STORE_URL to another place",
    )


async def _check_file(path: Path, clock: Clock) -> Finding:
    store = SqliteStore(path, clock=clock, busy=_PATIENCE)
    try:
        live = await store.gauges()
    except ConfigurationError as error:
        return failure(CHECK, str(error), "name the right file in HOLDSHORT_STORE_URL, or upgrade")
    except HoldshortError as error:
        return failure(
            CHECK,
            f"{path} does not answer: {error}",
            "see that the disk has room, and that this user may write to the file and its folder",
        )
    finally:
        await store.close()
    return ok(
        CHECK,
        f"{path}: {live.queued} queued, {live.running} running, {live.waiting} waiting,"
        f" {live.cards_due} cards due",
    )


def _check_privacy(path: Path) -> list[Finding]:
    if not path.stat().st_mode & _OTHERS:
        return []
    return [
        warning(
            CHECK,
            f"{path} is open to other users: it holds the arguments and results of tools",
            f"chmod 600 {path}",
        )
    ]
