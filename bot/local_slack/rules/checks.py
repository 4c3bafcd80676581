"""The few building blocks every rule is made of.

A check takes a JSON value and where it stands (a JSON pointer) and yields the problems it finds,
in the words Slack uses (`must be less than 3001 characters [json-pointer:/blocks/0/text/text]`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

Check = Callable[[object, str], Iterator[str]]


def utf16(text: str) -> int:
    """Measure a text in UTF-16 code units.

    Slack does not say what its characters are; this is the reading by which an emoji costs most.
    """
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def problem(message: str, pointer: str) -> str:
    """Say what is wrong and where, as Slack does."""
    return f"{message} [json-pointer:{pointer}]"


def string(*, least: int = 0, most: int | None = None) -> Check:
    """Check for a string of `least` to `most` UTF-16 units."""

    def check(value: object, at: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield problem("must provide a string", at)
        elif utf16(value) < least:
            yield problem(f"must be more than {least - 1} characters", at)
        elif most is not None and utf16(value) > most:
            yield problem(f"must be less than {most + 1} characters", at)

    return check


def boolean(value: object, at: str) -> Iterator[str]:
    """Check for true or false."""
    if not isinstance(value, bool):
        yield problem("must provide a boolean", at)


def integer(least: int, most: int) -> Check:
    """Check for a whole number within bounds, both included."""

    def check(value: object, at: str) -> Iterator[str]:
        if not isinstance(value, int) or isinstance(value, bool):
            yield problem("must provide an integer", at)
        elif not least <= value <= most:
            yield problem(f"must be between {least} and {most}", at)

    return check


def one_of(*allowed: str) -> Check:
    """Check for one of some words."""

    def check(value: object, at: str) -> Iterator[str]:
        if value not in allowed:
            yield problem("must be a valid enum value", at)

    return check


def sequence(item: Check, *, least: int = 0, most: int) -> Check:
    """Check for a list of `least` to `most` items, and each item."""

    def check(value: object, at: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield problem("must provide an array", at)
            return
        if len(value) < least:
            yield problem(f"must provide at least {least} items", at)
        if len(value) > most:
            yield problem(f"no more than {most} items allowed", at)
        for index, one in enumerate(value):
            yield from item(one, f"{at}/{index}")

    return check


def anything(_value: object, _at: str) -> Iterator[str]:
    """Accept whatever stands here; its inside is not modelled."""
    yield from ()


def an_object(value: object, at: str) -> Iterator[str]:
    """Check for an object whose inside is not modelled."""
    if not isinstance(value, dict):
        yield problem("must provide an object", at)


def shape(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """Check for an object with these fields and no other (Slack refuses what it does not know)."""
    fields = {**required, **(optional or {})}

    def check(value: object, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield problem("must provide an object", at)
            return
        for name in required:
            if name not in value:
                yield problem(f"missing required field: {name}", at)
        for name, inner in value.items():
            if name in fields:
                yield from fields[name](inner, f"{at}/{name}")
            else:
                yield problem(f"invalid additional property: {name}", f"{at}/{name}")

    return check


def variant(shapes: Mapping[str, Check]) -> Check:
    """Check for an object of one of several types, told apart by its `type`."""

    def check(value: object, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield problem("must provide an object", at)
            return
        kind = value.get("type")
        if kind is None:
            yield problem("missing required field: type", at)
        elif not isinstance(kind, str) or kind not in shapes:
            yield problem(f"unsupported type: {kind}", f"{at}/type")
        else:
            yield from shapes[kind](value, at)

    return check


def every(*checks: Check) -> Check:
    """Apply several checks to the same value."""

    def check(value: object, at: str) -> Iterator[str]:
        for one in checks:
            yield from one(value, at)

    return check


def tagged(
    kind: str, required: Mapping[str, Check], optional: Mapping[str, Check] | None = None
) -> Check:
    """Check a shape whose `type` must be `kind`."""
    return shape({"type": one_of(kind), **required}, optional)
