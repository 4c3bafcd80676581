"""All of a call's arguments, cut into pages: together they show every character."""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.schema import Json
from notifiers import limits
from notifiers.arguments import NO_SECRET, Box, Row, Secret, read_rows
from notifiers.blocks import Block, box, context, plain
from notifiers.text import Style, pieces, units


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a review."""

    number: int
    of: int
    blocks: tuple[Block, ...]

    @property
    def last(self) -> bool:
        """Tell whether nothing follows."""
        return self.number == self.of


def paginate(arguments: Json, secret: Secret = NO_SECRET) -> tuple[Page, ...]:
    """Return all pages; there is at least one."""
    filled = list(_fill(_boxes(read_rows(arguments, secret))))
    if not filled:
        filled = [[context(plain("It takes no arguments."))]]
    return tuple(
        Page(number, len(filled), tuple(blocks)) for number, blocks in enumerate(filled, start=1)
    )


def _fill(boxes: Iterator[Box]) -> Iterator[list[Block]]:
    page: list[Block] = []
    room = limits.PAGE_UNITS
    for one in boxes:
        cost = units(one.text) + units(one.name) + units(one.note)
        if page and (cost > room or len(page) == limits.PAGE_BOXES):
            yield page
            page, room = [], limits.PAGE_UNITS
        page.append(box(one.text, one.name, one.note))
        room -= cost
    if page:
        yield page


def _boxes(rows: Iterator[Row]) -> Iterator[Box]:
    """Yield one box for each run of short values, and one or more for each long value."""
    lines: list[str] = []
    size = 0
    for number, row in enumerate(rows, start=1):
        fits = row.line and size + units(row.line) < limits.BOX_UNITS
        if lines and not fits:
            yield Box("", "", "\n".join(lines))
            lines, size = [], 0
        if row.line:
            lines.append(row.line)
            size += units(row.line) + 1
        else:
            yield from _long(number, row)
    if lines:
        yield Box("", "", "\n".join(lines))


def _long(number: int, row: Row) -> Iterator[Box]:
    name = row.name
    if units(name) > limits.NAME:
        name = f"value {number:,}"
        spelled = f"{len(row.name):,} characters"
        yield from _parts(f"name of {name}", spelled, row.name, Style.MADE)
    yield from _parts(name, row.note, row.raw, Style.BOX)


def _parts(name: str, note: str, text: str, style: Style) -> Iterator[Box]:
    parts = list(pieces(text, limits.BOX_UNITS, style))
    if parts[1:] == []:
        yield Box(name, note, "".join(parts))
        return
    for number, part in enumerate(parts, start=1):
        yield Box(name, f"{note}; part {number:,} of {len(parts):,}", part)
