r"""Untrusted text made inert: what cannot be seen is shown, what could act is taken apart.

Whatever is invisible, reorders its neighbours or passes for a space appears as ``\u{202E}``. The
mapping loses nothing: a literal ``\u{`` is itself shown as ``\u{5C}u{``. A text is cut only
between atoms, so never inside an escape, an entity, a surrogate pair or an emoji with its
modifiers, and a cut text always tells how much it hides.
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
    MRKDWN = "mrkdwn"
    """Inside mrkdwn: entities, and no character that formats."""
    MADE = "made"
    """A line that was made inert before, and is only to be cut."""


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

# Characters that stand for themselves in every style, so a run of them may be cut anywhere; the
# last one is left to the atom that follows, which may be a mark that belongs to it.
_RUN = re.compile(r"[A-Za-z0-9 .,/@#%^()\[\]{}+=|;?!'$-]+(?=[ -~\n]|\Z)")
_LITERAL_ESCAPE = re.compile(r"\\(?=u\{)")
_MADE_ESCAPE = re.compile(r"\\u\{[0-9A-F]{1,6}\}")
# Slack decodes these three (https://docs.slack.dev/messaging/formatting-message-text), and its
# pages do not say in which kinds of text.
_LITERAL_ENTITY = re.compile(r"&(?=(?:amp|lt|gt);)")
_EMOJI_NAME = re.compile(r":(?=[a-z0-9_+'-]+:)")
_WORD = re.compile(r"(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_FORMATS = frozenset("*~`")


def units(text: str) -> int:
    """Return the length in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def escape(character: str) -> str:
    r"""Return the visible escape of one character: ``\u{202E}``."""
    return f"\\u{{{ord(character):X}}}"


def inert(text: str, style: Style = Style.LINE) -> str:
    """Return the whole text, made inert for where it will stand."""
    return "".join(shown for _, shown in _atoms(text, style))


def clip(text: str, limit: int, style: Style = Style.LINE, *, breaks: int | None = None) -> Clip:
    """Return as much of the text as fits ``limit`` units and ``breaks`` newlines, made inert."""
    parts: list[str] = []
    used = count = 0
    for raw, shown in _atoms(text, style):
        if shown == "\n" and breaks is not None:
            breaks -= 1
        room = limit - used
        if breaks is not None and breaks < 0:
            break
        if units(shown) > room:
            if _RUN.fullmatch(raw):
                parts.append(raw[:room])
                count += room
            break
        parts.append(shown)
        used += units(shown)
        count += len(raw)
    return Clip("".join(parts), count, len(text))


def pieces(text: str, limit: int, style: Style = Style.BOX) -> Iterator[str]:
    """Yield the whole text, made inert, in pieces of at most ``limit`` units."""
    parts: list[str] = []
    used = 0
    for raw, whole in _atoms(text, style):
        shown = whole
        while units(shown) > limit - used:
            room = limit - used
            head = shown[:room] if _RUN.fullmatch(raw) else ""
            yield "".join([*parts, head])
            shown, parts, used = shown[len(head) :], [], 0
        parts.append(shown)
        used += units(shown)
    if parts:
        yield "".join(parts)


def one_line(text: str) -> str:
    """Return prose on one line: every run of white space becomes one space."""
    return " ".join(text.split())


def quote(text: str, limit: int) -> str:
    """Return prose in double quotes on one line, with a note if some is hidden."""
    part = clip(one_line(text), limit, Style.QUOTED)
    return f'"{part.text}"' + (f" ({part.note})" if part.note else "")


def mrkdwn(text: str, limit: int) -> str:
    """Return text that can stand inside mrkdwn and do nothing there; an ellipsis tells of a cut."""
    part = clip(text, limit, Style.MRKDWN)
    return part.text if part.complete else f"{part.text}\u2026"


def alphabets(text: str) -> tuple[str, ...]:
    """Return the alphabets that one word mixes, as lookalike names do, or nothing.

    Mathematical letters count by themselves: in a box they pass for plain ones.
    """
    if text.isascii():
        return ()
    for word in re.findall(r"[^\W\d_]+", text):
        mixed = {_alphabet(letter) for letter in word} - {""}
        if len(mixed) > 1 or "Mathematical" in mixed:
            return tuple(sorted(mixed))
    return ()


@lru_cache(maxsize=4096)
def _alphabet(letter: str) -> str:
    first = unicodedata.name(letter, "").partition(" ")[0]
    return first.capitalize() if first in _LOOKALIKES else ""


_LOOKALIKES = frozenset(
    {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "FULLWIDTH", "MATHEMATICAL"}
)


def _atoms(text: str, style: Style) -> Iterator[tuple[str, str]]:
    """Yield what must not be cut, raw and as it is shown."""
    at = 0
    while at < len(text):
        run = _RUN.match(text, at)
        if run:
            at = run.end()
            yield run[0], run[0]
            continue
        made = _MADE_ESCAPE.match(text, at) if style is Style.MADE else None
        end = made.end() if made else _cluster_end(text, at)
        yield text[at:end], made[0] if made else _show_cluster(text, at, end, style)
        at = end


def _cluster_end(text: str, at: int) -> int:
    if _FLAG.match(text, at):
        return at + 2
    end = at + 1
    if text[at].isspace() or _nature(text[at]) != "shown":
        return end
    while end < len(text) and end - at < _CLUSTER and _nature(text[end]) in {"mark", "tone"}:
        end += 1
    return end


def _show_cluster(text: str, at: int, end: int, style: Style) -> str:
    base = text[at]
    shown = [_show_ascii(text, at, style) if base.isascii() else _show_base(base)]
    rest = range(at + 1, end)
    shown += [text[i] if _rests(text, at, i, end) else escape(text[i]) for i in rest]
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
    if _LITERAL_ESCAPE.match(text, at) or _LITERAL_ENTITY.match(text, at):
        return escape(character)
    return _show_mrkdwn(text, at) if style is Style.MRKDWN else character


def _show_mrkdwn(text: str, at: int) -> str:
    character = text[at]
    lone = character == "_" and not _WORD.match(text, at)
    if character in _FORMATS or lone or _EMOJI_NAME.match(text, at):
        return escape(character)
    return _ENTITIES.get(character, character)
