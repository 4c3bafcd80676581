"""The store that the settings name: found, opened, and checked before anything is trusted to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.logs import get_log
from bot.settings import Durability, Purpose, Settings, SettingsError
from engine.errors import StoreUnavailableError, StoreUnfitError
from engine.ids import Surroundings
from engine.store import Store
from engine.stores import MemoryStore, SqliteStore
from engine.stores.redis_address import RedisAddress

_log = get_log(__name__)


SETTING = "HOLDSHORT_STORE_URL"


async def open_store(settings: Settings, around: Surroundings, called: str = SETTING) -> Store:
    """Return the store of the settings; ``try_store`` tells whether it answers.

    ``called``: what named it, for whoever reads an error. Which it is, is logged where it is
    served; one that is only looked at must be there.

    Raises:
        ConfigurationError: it cannot be opened, or decisions may not be trusted to it; one line for
            each thing that is wrong.

    """
    called = _named_by(settings, called)
    match settings.store_place:
        case None:
            return MemoryStore(clock=around.clock)
        case place if settings.purpose is Purpose.LOOK:
            return await open_source(place, around, called, settings.store_id)
        case Path() as path:
            return await _open_file(path, settings, around, called)
        case RedisAddress() as address:
            return await _open_redis(address, settings, around, called)


def check_there(settings: Settings) -> None:
    """Refuse a file that is not there: a mistyped name would make a new, empty store.

    Raises:
        SettingsError: there is none.

    """
    path = settings.store_place
    if isinstance(path, Path) and not path.exists():
        why = f"there is no file {path}; the first `holdshort serve` or `holdshort start` makes it"
        raise _no_store(why, _named_by(settings, SETTING))


async def open_source(
    place: Path | RedisAddress, around: Surroundings, called: str, identity: str = ""
) -> Store:
    """Return a store that is only read, and must be there; however its server is set up.

    ``identity``: its expected id; empty if any will do.

    Raises:
        ConfigurationError: it is not there, or it cannot be opened.

    """
    match place:
        case Path() as path:
            if not path.exists():
                raise _no_store(f"there is no file {path}", called)
            return _open_sqlite(path, around, called)
        case RedisAddress() as address:
            return await _open_known(address, around, called, identity)


async def try_store(store: Store, called: str = SETTING) -> None:
    """Ask a store something.

    Raises:
        SettingsError: it does not answer.

    """
    try:
        await store.next_due()
    except StoreUnavailableError as error:
        raise _no_store(str(error), called) from error


def _named_by(settings: Settings, called: str) -> str:
    unset = isinstance(settings.store_place, Path) and not settings.store_url
    return f"{called} (not set, so {settings.store_place})" if unset else called


async def _open_file(path: Path, settings: Settings, around: Surroundings, called: str) -> Store:
    known = _describe(path)
    store = _open_sqlite(path, around, called)
    try:
        if settings.purpose.serves:
            await try_store(store, called)
            await _tell_opened(store, **known)
    except BaseException:
        await store.close()
        raise
    return store


async def _tell_opened(store: Store, **known: object) -> None:
    """Log which store it is, so that a mistyped name is seen: it would be new, and empty."""
    live = await store.gauges()
    runs = live.queued + live.running + live.waiting
    _log.info("store opened", **known, live_runs=runs)


def _describe(path: Path) -> dict[str, object]:
    return {"url": f"sqlite:///{path.absolute()}", "new": not path.exists()}


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
    from engine.stores.redis_checks import Wanted, examine, is_new  # noqa: PLC0415
    from engine.stores.redis_connection import open_listener, open_writer  # noqa: PLC0415
    from engine.stores.redis_findings import refuse_unfit  # noqa: PLC0415

    wanted = Wanted(
        settings.durability is Durability.RELAXED, settings.store_id, settings.store_replicas
    )
    client = open_writer(address)
    store = RedisStore(
        client,
        lambda: open_listener(address),
        replicas=settings.store_replicas,
        on_undecodable=lambda error: around.report("store", error),
    )
    async with _closed_unless_good(store, address, called):
        warnings = refuse_unfit(await examine(client, wanted, around.clock))
        new = await is_new(client)
        identity = await store.identity()
        if settings.purpose.serves:
            for warning in warnings:
                _log.warning("the store may lose decisions", why=str(warning))
            await _tell_opened(store, url=str(address), id=identity, new=new)
    return store


async def _open_known(
    address: RedisAddress, around: Surroundings, called: str, identity: str
) -> Store:
    from engine.stores.redis import RedisStore  # noqa: PLC0415 - as above
    from engine.stores.redis_checks import Wanted, check_identity, is_new  # noqa: PLC0415
    from engine.stores.redis_connection import open_listener, open_writer  # noqa: PLC0415
    from engine.stores.redis_findings import refuse_unfit  # noqa: PLC0415

    client = open_writer(address)
    store = RedisStore(
        client,
        lambda: open_listener(address),
        on_undecodable=lambda error: around.report("store", error),
    )
    async with _closed_unless_good(store, address, called):
        refuse_unfit(await check_identity(client, Wanted(identity=identity)))
        if await is_new(client):
            raise _no_store(f"{address} holds none", called)
        await store.identity()
    return store


@asynccontextmanager
async def _closed_unless_good(
    store: Store, address: RedisAddress, called: str
) -> AsyncIterator[None]:
    try:
        yield
    except StoreUnavailableError as error:
        await store.close()
        raise _no_store(f"{address}: {error}", called) from None
    except StoreUnfitError as error:
        await store.close()
        told = [f"{called} is {address}: {problem}" for problem in error.problems]
        raise StoreUnfitError(told) from None
    except BaseException:
        await store.close()
        raise


def _no_store(why: str, called: str) -> SettingsError:
    return SettingsError([f"{called} names a store that cannot be opened: {why}"])
