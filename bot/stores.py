"""The store that the settings name: found, opened, and checked before anything is trusted to it."""

from pathlib import Path

from bot.logs import get_log
from bot.settings import Durability, Purpose, Settings, SettingsError
from engine.errors import StoreUnavailableError
from engine.ids import Surroundings
from engine.store import Store
from engine.stores import MemoryStore, SqliteStore
from engine.stores.redis_address import RedisAddress

_log = get_log(__name__)


SETTING = "HOLDSHORT_STORE_URL"


async def open_store(settings: Settings, around: Surroundings, called: str = SETTING) -> Store:
    """Return the store of the settings; ``try_store`` tells whether it answers.

    ``called``: what named it, for whoever reads an error.

    Raises:
        ConfigurationError: it cannot be opened, or decisions may not be trusted to it; one line for
            each thing that is wrong.

    """
    match settings.store_place:
        case None:
            return MemoryStore(clock=around.clock)
        case Path() as path:
            unset = "" if settings.store_url else f" (not set, so {path})"
            return _open_sqlite(path, around, called + unset)
        case RedisAddress() as address:
            return await _open_redis(address, settings, around, called)


async def open_source(place: Path | RedisAddress, around: Surroundings, called: str) -> Store:
    """Return a store that is only read, and must be there; however its server is set up.

    Raises:
        ConfigurationError: it is not there, or it cannot be opened.

    """
    match place:
        case Path() as path:
            if not path.exists():
                raise _no_store(f"there is no file {path}", called)
            return _open_sqlite(path, around, called)
        case RedisAddress() as address:
            return await _open_known(address, around, called)


async def try_store(store: Store, called: str = SETTING) -> None:
    """Ask a store something.

    Raises:
        SettingsError: it does not answer.

    """
    try:
        await store.next_due()
    except StoreUnavailableError as error:
        raise _no_store(str(error), called) from error


def _open_sqlite(path: Path, around: Surroundings, called: str) -> Store:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _no_store(error.strerror or "its folder cannot be made", called) from error
    return SqliteStore(
        path,
        clock=around.clock,
        on_undecodable=lambda error: around.report("store", error),
    )


async def _open_redis(
    address: RedisAddress, settings: Settings, around: Surroundings, called: str
) -> Store:
    # Only who uses it pays for it: redis-py takes a third of a second to import.
    from engine.stores.redis import RedisStore  # noqa: PLC0415
    from engine.stores.redis_checks import (  # noqa: PLC0415
        Wanted,
        check_identity,
        check_rights,
        check_servers,
        refuse_unfit,
    )
    from engine.stores.redis_connection import open_listener, open_writer  # noqa: PLC0415

    wanted = Wanted(settings.durability is Durability.RELAXED, settings.store_id)
    client = open_writer(address)
    store = RedisStore(
        client,
        lambda: open_listener(address),
        replicas=settings.store_replicas,
        on_undecodable=lambda error: around.report("store", error),
    )
    try:
        warnings = refuse_unfit(await check_servers(client, wanted, around.clock))
        refuse_unfit(await check_rights(client))
        refuse_unfit(await check_identity(client, wanted))
        identity = await store.identity()
    except StoreUnavailableError as error:
        await store.close()
        raise _no_store(f"{address}: {error}", called) from None
    except BaseException:
        await store.close()
        raise
    if settings.purpose is not Purpose.TERMINAL:
        for warning in warnings:
            _log.warning("the store may lose decisions", why=str(warning))
        _log.info("store opened", url=str(address), id=identity)
    return store


async def _open_known(address: RedisAddress, around: Surroundings, called: str) -> Store:
    from engine.stores.redis import RedisStore  # noqa: PLC0415 - as above
    from engine.stores.redis_checks import is_new  # noqa: PLC0415
    from engine.stores.redis_connection import open_listener, open_writer  # noqa: PLC0415

    client = open_writer(address)
    store = RedisStore(
        client,
        lambda: open_listener(address),
        on_undecodable=lambda error: around.report("store", error),
    )
    try:
        new = await is_new(client)
        if not new:
            await store.identity()
    except StoreUnavailableError as error:
        await store.close()
        raise _no_store(f"{address}: {error}", called) from None
    except BaseException:
        await store.close()
        raise
    if new:
        await store.close()
        raise _no_store(f"{address} holds none", called)
    return store


def _no_store(why: str, called: str) -> SettingsError:
    return SettingsError([f"{called} names a store that cannot be opened: {why}"])
