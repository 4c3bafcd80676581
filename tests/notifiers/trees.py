"""Random arguments, and what must be said of each of their values."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from engine.redaction import escape_step
from engine.schema import Json

NASTY = [
    "",
    "prod",
    "1.4.2",
    "1",
    "true",
    "null",
    "-5",
    "two words",
    'say "hi"',
    "back\\slash",
    "a\nb = c",
    "\u202egnirts",
    "zero\u200bwidth",
    "<!channel> <https://evil.example|Approved> &amp;",
    "`*_~`:x:",
    "\u05e9\u05dc\u05d5\u05dd",
    "pr\u043ed",
    "x" * 79,
    "y" * 500,
    "z\n" * 60,
    "padded            out",
]
NAMES = ["env", "version", "a b", 'k"', "a.b", "n\nn", "", "\u202e", "\u05e9", "k" * 200, "0"]
ALPHABET = 'ab1 .-_"\\\n<>&`*\u202e\u200b\u2800\u0301\ufe0f\ud83d\U0001f44d\u05d0\u0416\u4e2d'


def grow(random: Random, depth: int = 4) -> Json:
    """Return a random value."""
    kind = random.randrange(9 if depth else 7)
    match kind:
        case 0 | 1 | 2:
            number = random.choice([random.randint(-(10**20), 10**20), random.uniform(-1e9, 1e9)])
            return random.choice([None, True, False, [], {}, number, number])
        case 3 | 4:
            return random.choice(NASTY)
        case 5 | 6:
            return "".join(random.choices(ALPHABET, k=random.randrange(30)))
        case 7:
            return [grow(random, depth - 1) for _ in range(random.randrange(6))]
        case _:
            return grow_object(random, depth - 1)


def grow_object(random: Random, depth: int = 3) -> dict[str, Json]:
    """Return random arguments."""
    names = [random.choice([*NAMES, f"k{n}"]) for n in range(random.randrange(9))]
    return {name: grow(random, depth) for name in names}


# A seed is drawn and the tree grown from it: drawing every node takes thirty times as long.
trees = st.integers(min_value=0, max_value=2**48).map(
    lambda seed: grow_object(Random(seed))  # noqa: S311 - the same tree for the same seed
)


SECRETS = ["sk-proj-abcdefghijklmnop1234", "AKIAIOSFODNN7EXAMPLE", "xoxb-1234567890-abcdefghij"]


@dataclass(frozen=True)
class Salted:
    """Arguments with secrets in them, and where their schema marks some of them."""

    arguments: dict[str, Json]
    marked: tuple[str, ...]


def salt(random: Random) -> Salted:
    """Return random arguments, some of whose texts are or hold a secret, some of them marked."""
    marked: list[str] = []

    def strew(value: Json, at: str) -> Json:
        if random.random() < 0.1:
            marked.append(at)
        if isinstance(value, dict) and value:
            return {
                name: strew(inner, f"{at}/{escape_step(name)}") for name, inner in value.items()
            }
        if isinstance(value, list) and value:
            return [strew(inner, f"{at}/*") for inner in value]
        if isinstance(value, str) and random.random() < 0.3:
            return random.choice(["", f"{value} ", f"{value}="]) + random.choice(SECRETS)
        return value

    grown = grow_object(random)
    return Salted(
        {name: strew(inner, f"/{escape_step(name)}") for name, inner in grown.items()},
        tuple(marked),
    )


salted = st.integers(min_value=0, max_value=2**48).map(
    lambda seed: salt(Random(seed))  # noqa: S311 - the same arguments for the same seed
)


def leaves(value: Json) -> Iterator[str]:
    """Yield the raw text of every value: a string's characters, or the JSON of anything else."""
    if isinstance(value, dict) and value:
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list) and value:
        for inner in value:
            yield from leaves(inner)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


def count(arguments: Json) -> int:
    """Return how many values the arguments hold; an empty object holds none."""
    return 0 if arguments in ({}, None) else sum(1 for _ in leaves(arguments))


def quoted(text: str) -> str:
    """Read a value in quotes back (`\\"`, `\\\\` and `\\u{..}` are what it may hold)."""
    out: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "\\":
            out.append(text[at])
            at += 1
        elif text[at + 1] == "u":
            end = text.index("}", at)
            code, _, times = text[at + 3 : end].partition("x")
            out.append(chr(int(code, 16)) * int(times or 1))
            at = end + 1
        else:
            out.append(text[at + 1])
            at += 2
    return "".join(out)
