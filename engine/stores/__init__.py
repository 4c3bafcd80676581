"""The stores: implementations of the port in ``engine.store``."""

from engine.stores.sqlite import Counters, MemoryStore, SqliteStore

__all__ = ["Counters", "MemoryStore", "SqliteStore"]
