r"""Untrusted text made inert: what cannot be seen is shown, what could act is taken apart.

Whatever is invisible, reorders its neighbours or passes for a space appears as ``\u{202E}``. The
mapping loses nothing: a literal ``\u{`` is itself shown as ``\u{5C}u{``. Spaces that would push
what follows onto a line of its own are counted: ``\u{20x48}``. A text is cut only between atoms,
so never inside an escape, an entity, a surrogate pair or an emoji with its modifiers, and a cut
text always tells how much it hides.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache


class Style(Enum):
    """Where a text will stand."""

    LINE = "line"
    """One line of plain_text."""
    BOX = "box"
    """A preformatted box: newlines and tabs are kept."""
    QUOTED = "quoted"
    """Between double quotes: they and the backslash get a backslash, as in JSON."""
    NAME = "name"
    """A name in plain_text, spelled as the same name is in mrkdwn."""
    MRKDWN = "mrkdwn"
    """Inside mrkdwn: entities, and no character that formats."""
    MADE = "made"
    """Anywhere, for a text that was made inert before and is only to be cut."""
    MADE_MRKDWN = "made mrkdwn"
    """Inside mrkdwn, for a text that was made inert before."""


@dataclass(frozen=True, slots=True)
class Clip:
    """The beginning of a text, made inert: how many of its characters are shown, of how many."""

    text: str
    shown: int
    total: int

    @property
    def complete(self) -> bool:
        """Tell whether nothing is hidden."""
        return self.shown == self.total

    @property
    def note(self) -> str:
        """Say how much is hidden; empty if nothing is."""
        return "" if self.complete else f"first {self.shown:,} of {self.total:,} characters"


# Looks like nothing, or like a space, though its category says letter, mark or symbol.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_EMOJI_STYLE = "\ufe0f"
_KEYCAP = "\u20e3"
_KEYS = frozenset("#*0123456789")
_TONES = re.compile("[\U0001f3fb-\U0001f3ff]")
_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]{2}")
_MARKS_KEPT = 4
_CLUSTER = 8

# Characters that stand for themselves (one unit each), so a run of them may be cut anywhere. The
# last one is left to the atom that follows, which may be a mark that belongs to it.
_LETTERS = (
    "\u00c0-\u024f\u0400-\u0481\u048a-\u052f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9ffc\uac00-\ud7a3"
)
_CALM = "A-Za-z0-9.,/@#%^()\\[\\]{}+=|;?!'$\\-" + _LETTERS
_SPECIAL = {
    Style.LINE: '<>*~`_:"',
    Style.BOX: '<>*~`_:"\n',
    Style.QUOTED: "<>*~`_:",
    Style.MADE: '<>*~`_:"',
    Style.NAME: '<>"',
    Style.MRKDWN: '"',
    Style.MADE_MRKDWN: '"',
}
# So many blanks in a row stand as they are. In a box that is an indentation; what was made inert
# before has none too many.
_SPACE = "(?<!  ) "
_BLANK = {
    Style.BOX: "(?<! {24}) |(?<!\t{6})\t",
    Style.MADE: " ",
    Style.MADE_MRKDWN: " ",
}
_RUNS = {
    style: re.compile(f"(?:[{more}{_CALM}]|{_BLANK.get(style, _SPACE)})+(?=[{more}{_CALM} \t]|\\Z)")
    for style, more in _SPECIAL.items()
}
_PADDING = re.compile("(?<=  ) +")
_BOX_PADDING = re.compile("(?<= {24}) +|(?<=\t{6})\t+")
_LITERAL_ESCAPE = re.compile(r"\\(?=u\{)")
_MADE_ESCAPE = re.compile(r"\\u\{[0-9A-F]{1,6}(?:x[0-9]+)?\}")
# Slack decodes these three (https://docs.slack.dev/messaging/formatting-message-text), and its
# pages do not say in which kinds of text.
_LITERAL_ENTITY = re.compile(r"&(?=(?:amp|lt|gt);)")
_EMOJI_NAME = re.compile(r":(?=[a-z0-9_+'-]+:)")
_WORD = re.compile(r"(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_FORMATS = frozenset("*~`")
_MADE = frozenset({Style.MADE, Style.MADE_MRKDWN})
_MRKDWN = frozenset({Style.MRKDWN, Style.MADE_MRKDWN})
_NO_FORMAT = _MRKDWN | {Style.NAME}


def units(text: str) -> int:
    """Return the length in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


@lru_cache(maxsize=4096)
def escape(character: str) -> str:
    r"""Return the visible escape of one character: ``\u{202E}``."""
    return f"\\u{{{ord(character):X}}}"


def inert(text: str, style: Style = Style.LINE) -> str:
    """Return the whole text, made inert for where it will stand."""
    return "".join(shown for _, shown, _ in _atoms(text, style))


def clip(text: str, limit: int, style: Style = Style.LINE, *, breaks: int | None = None) -> Clip:
    """Return as much of the text as fits ``limit`` units and ``breaks`` newlines, made inert."""
    parts: list[str] = []
    room = limit
    count = 0
    for raw, shown, calm in _atoms(text[: _reach(text, breaks)], style):
        cost = units(shown)
        if cost > room:
            if calm:
                parts.append(shown[:room])
                count += room
            break
        parts.append(shown)
        room -= cost
        count += len(raw)
    return Clip("".join(parts), count, len(text))


def _reach(text: str, breaks: int | None) -> int:
    """Return where the newline stands that is one too many."""
    at = len(text)
    if breaks is None or text.count("\n") <= breaks:
        return at
    at = -1
    for _ in range(max(breaks, 0) + 1):
        at = text.index("\n", at + 1)
    return at


def pieces(text: str, limit: int, style: Style = Style.BOX) -> Iterator[str]:
    """Yield the whole text, made inert, in pieces of at most ``limit`` units."""
    parts: list[str] = []
    room = limit
    for _, whole, calm in _atoms(text, style):
        shown, cost = whole, units(whole)
        while cost > room:
            head = shown[:room] if calm else ""
            yield "".join([*parts, head])
            shown, parts, room = shown[len(head) :], [], limit
            cost = units(shown)
        parts.append(shown)
        room -= cost
    if parts:
        yield "".join(parts)


def one_line(text: str) -> str:
    """Return prose on one line: every run of white space becomes one space."""
    return " ".join(text.split())


def clip_prose(text: str, limit: int, style: Style = Style.LINE) -> Clip:
    """Return the beginning of prose on one line; what is counted are the text's own characters."""
    part = clip(one_line(text), limit, style)
    shown = len(text) if part.complete else _reached(text, part.shown)
    return Clip(part.text, shown, len(text))


def _reached(text: str, shown: int) -> int:
    """Return how many characters of a text the first ``shown`` on one line stand for."""
    for word in re.finditer(r"\S+", text):
        if shown <= len(word[0]):
            return word.start() + shown
        shown -= len(word[0]) + 1
    return len(text)


def quote(text: str, limit: int, elsewhere: str = "") -> str:
    """Return prose in double quotes on one line; if some is hidden, how much, and where it is."""
    part = clip_prose(text, limit, Style.QUOTED)
    if part.complete:
        return f'"{part.text}"'
    return f'"{part.text}" ({part.note}{elsewhere and f"; {elsewhere}"})'


def mrkdwn(text: str, limit: int, style: Style = Style.MRKDWN) -> str:
    """Return text that can stand inside mrkdwn and do nothing there; an ellipsis tells of a cut."""
    part = clip(text, limit, style)
    return part.text if part.complete else f"{part.text}\u2026"


def made_mrkdwn(text: str, limit: int) -> str:
    """Return the same of a text that was made inert before."""
    return mrkdwn(text, limit, Style.MADE_MRKDWN)


def alphabets(text: str) -> tuple[str, ...]:
    """Return the alphabets that one word mixes, as lookalike names do, or nothing.

    Mathematical letters count by themselves: in a box they pass for plain ones.
    """
    if text.isascii() or not _ELSEWHERE.search(text):
        return ()
    for word in re.findall(r"[^\W\d_]+", text):
        mixed = {_alphabet(letter) for letter in set(word)} - {""}
        if len(mixed) > 1 or "Mathematical" in mixed:
            return tuple(sorted(mixed))
    return ()


@lru_cache(maxsize=4096)
def _alphabet(letter: str) -> str:
    first = unicodedata.name(letter, "").partition(" ")[0]
    return first.capitalize() if first in _LOOKALIKES else ""


# Greek, Coptic, Cyrillic, Armenian, Cherokee, full-width Latin, mathematical letters.
_ELSEWHERE = re.compile(
    "[\u0370-\u058f\u13a0-\u13ff\u1c80-\u1c8f\u1f00-\u1fff\u2c80-\u2cff\u2de0-\u2dff\ua640-\ua69f"
    "\uab70-\uabbf\uff21-\uff5a\U0001d400-\U0001d7ff]"
)
_LOOKALIKES = frozenset(
    {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "FULLWIDTH", "MATHEMATICAL"}
)


def _atoms(text: str, style: Style) -> Iterator[tuple[str, str, bool]]:
    """Yield what must not be cut, raw and as it is shown, and whether it may be cut after all."""
    at, last = 0, len(text)
    run, made = _RUNS[style], style in _MADE
    padding = _BOX_PADDING if style is Style.BOX else _PADDING
    while at < last:
        calm = run.match(text, at)
        if calm:
            at = calm.end()
            yield calm[0], calm[0], True
            continue
        pushes = None if made else padding.match(text, at)
        if pushes:
            at = pushes.end()
            yield pushes[0], _show_padding(pushes[0]), False
            continue
        kept = _MADE_ESCAPE.match(text, at) if made else None
        end = kept.end() if kept else _cluster_end(text, at)
        raw = text[at:end]
        yield raw, kept[0] if kept else _show_cluster(text, at, end, style), False
        at = end


def _show_padding(run: str) -> str:
    return escape(run) if len(run) == 1 else f"{escape(run[0])[:-1]}x{len(run)}}}"


def _cluster_end(text: str, at: int) -> int:
    end = at + 1
    if text[at].isspace() or _nature(text[at]) != "shown":
        return end
    if _FLAG.match(text, at):
        return at + 2
    while end < len(text) and end - at < _CLUSTER and _nature(text[end]) in {"mark", "tone"}:
        end += 1
    return end


def _show_cluster(text: str, at: int, end: int, style: Style) -> str:
    base = text[at]
    first = _show_ascii(text, at, style) if base.isascii() else _show_base(base)
    if end == at + 1:
        return first
    shown = [first]
    # On an escape a mark has nothing to rest on: it would stand on its brace.
    rests = not first.startswith("\\u{")
    for place in range(at + 1, end):
        rests = rests and _rests(text, at, place, end)
        shown.append(text[place] if rests else escape(text[place]))
    return "".join(shown)


def _rests(text: str, base: int, at: int, end: int) -> bool:
    """Tell whether a mark or modifier may stand where it stands, on a base that is shown."""
    mark = text[at]
    if _FLAG.match(text, base):
        return True
    if at - base > _MARKS_KEPT or mark in _BLANKS:
        return False
    if not _SELECTORS.match(mark):
        return True
    if mark != _EMOJI_STYLE or at != base + 1:
        return False
    keycap = text[base] in _KEYS and at + 1 < end and text[at + 1] == _KEYCAP
    return keycap or unicodedata.category(text[base]) in {"So", "Sm"}


def _show_base(character: str) -> str:
    """Show a character beyond ASCII that begins an atom; a mark has nothing to rest on here."""
    return escape(character) if _nature(character) in {"hidden", "mark"} else character


@lru_cache(maxsize=8192)
def _nature(character: str) -> str:
    category = unicodedata.category(character)
    if _TONES.match(character):
        return "tone"
    if category.startswith("M"):
        return "mark"
    return "hidden" if category in _HIDDEN or character in _BLANKS else "shown"


def _show_ascii(text: str, at: int, style: Style) -> str:
    character = text[at]
    if not character.isprintable():
        kept = style is Style.BOX and character in "\n\t"
        return character if kept else escape(character)
    if style is Style.QUOTED and character in '"\\':
        return f"\\{character}"
    spells = _LITERAL_ESCAPE.match(text, at) or _LITERAL_ENTITY.match(text, at)
    if spells and style not in _MADE:
        return escape(character)
    if style in _NO_FORMAT and _formats(text, at):
        return escape(character)
    return _ENTITIES.get(character, character) if style in _MRKDWN else character


def _formats(text: str, at: int) -> bool:
    character = text[at]
    lone = character == "_" and not _WORD.match(text, at)
    return lone or character in _FORMATS or _EMOJI_NAME.match(text, at) is not None
