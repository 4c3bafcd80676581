"""Untrusted text is made inert, loses nothing, and is never cut where it would change meaning."""

import html
import re
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from notifiers.text import Style, alphabets, clip, clip_prose, inert, mrkdwn, pieces, quote, units
from notifiers.wording import marked_name, name
from tests.notifiers.effort import NORMAL, QUICK
from tests.notifiers.judge import BLANKS, HIDDEN, check_mrkdwn, check_visible

NASTY = [
    *"\u202e\u2066\u200b\u200d\ufeff\u00ad\x00\x1b\x7f\u0085\u2028\u2029\u00a0\u3000\u2003",
    *"\U000e0041\U000e007f\ue000\ud800\udfff\u0378\ufe0f\ufe0e\U000e0100\u20e3\u0301\u0488",
    *"<>&*_~`:\\\"'#@!|^{}\n\t 1aZ\u00e9\u0416\u05d0\u4e2d\U0001f44d\U0001f3fd\U0001f1e9\u2600",
    *BLANKS,
    "&lt;",
    "&amp;",
    "\\u{202E}",
    ":x:",
    "<!channel>",
    "<https://evil.example|Approved>",
    "1\ufe0f\u20e3",
    " " * 30,
    "\t" * 9,
]
texts = st.lists(st.sampled_from(NASTY) | st.text(max_size=3), max_size=30).map("".join)
styles = st.sampled_from([Style.LINE, Style.BOX, Style.QUOTED, Style.NAME])
ESCAPE = re.compile(r"\\u\{([0-9A-F]+)(?:x([0-9]+))?\}")
QUOTED = re.compile(rf'{ESCAPE.pattern}|\\(["\\])')


def undo(shown: str, style: Style) -> str:
    """Read a shown text back: every ``\\u{`` in it is an escape of ours."""
    pattern = QUOTED if style is Style.QUOTED else ESCAPE
    return pattern.sub(_unescaped, shown)


def _unescaped(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[3]
    return chr(int(found[1], 16)) * int(found[2] or 1)


def test_every_code_point_that_hides_or_reorders_is_shown_as_an_escape() -> None:
    """Unassigned, private and surrogate code points are too many: every 97th stands for them."""
    kinds = ((code, unicodedata.category(chr(code))) for code in range(sys.maxunicode + 1))
    hidden = [
        code
        for code, kind in kinds
        if kind in HIDDEN and code != 0x20 and (kind not in {"Cn", "Co", "Cs"} or code % 97 == 0)
    ]
    wrong = [code for code in hidden if inert(chr(code)) != f"\\u{{{code:X}}}"]

    assert len(hidden) > 9_000
    assert not wrong


def test_letters_of_every_script_are_left_alone() -> None:
    text = "Zażółć 東京 Москва Αθήνα שלום مرحبا हिन्दी ไทย 한국어 👍🏽 ☀️ 1️⃣ 🇩🇪"
    assert inert(text) == text


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("a\u202eb", "a\\u{202E}b"),
        ("a\u200db", "a\\u{200D}b"),
        ("no\u00a0break", "no\\u{A0}break"),
        ("\u2800\u3164", "\\u{2800}\\u{3164}"),
        ("\U000e0041", "\\u{E0041}"),
        ("\ud83d", "\\u{D83D}"),
        ("\\u{202E}", "\\u{5C}u{202E}"),
        ("C:\\dir", "C:\\dir"),
        ("&lt;b&gt; & <b>", "\\u{26}lt;b\\u{26}gt; & <b>"),
        ("a\ufe0f", "a\\u{FE0F}"),
        ("\u2600\ufe0f\ufe0f", "\u2600\ufe0f\\u{FE0F}"),
        ("\u0301a", "\\u{301}a"),
        ("e\u0301", "e\u0301"),
        ("a" + "\u0301" * 6, "a" + "\u0301" * 4 + "\\u{301}" * 2),
        (" \u0301", " \\u{301}"),
        ("a\nb\tc", "a\\u{A}b\\u{9}c"),
    ],
)
def test_a_line_shows_what_is_there(raw: str, expected: str) -> None:
    assert inert(raw) == expected


@pytest.mark.parametrize(
    ("raw", "line", "box"),
    [
        ("a  b", "a  b", "a  b"),
        ("a   b", "a  \\u{20}b", "a   b"),
        ("a" + " " * 50 + "b", "a  \\u{20x48}b", "a" + " " * 24 + "\\u{20x26}b"),
        ("   ", "  \\u{20}", "   "),
        ("\n" + "\t" * 8 + "b", "\\u{A}" + "\\u{9}" * 8 + "b", "\n" + "\t" * 6 + "\\u{9x2}b"),
        ("\\u{20x48}", "\\u{5C}u{20x48}", "\\u{5C}u{20x48}"),
    ],
)
def test_padding_cannot_push_text_onto_a_line_of_its_own(raw: str, line: str, box: str) -> None:
    assert inert(raw) == line
    assert inert(raw, Style.BOX) == box
    assert mrkdwn(raw, 200) == line


@QUICK
@given(texts)
@example("<\u034f\u20e3")
@example("*\u20e3")
def test_a_name_is_spelled_alike_in_plain_text_and_in_mrkdwn(text: str) -> None:
    assert html.unescape(marked_name(text)) == html.unescape(name(text).replace("&", "&amp;"))


def test_a_box_keeps_line_breaks_and_tabs() -> None:
    assert inert("a\n\tb\r\n", Style.BOX) == "a\n\tb\\u{D}\n"


def test_quotes_cannot_be_closed_from_inside() -> None:
    assert inert('a" b \\', Style.QUOTED) == 'a\\" b \\\\'


@NORMAL
@given(texts, styles)
def test_nothing_is_lost_and_nothing_hides(text: str, style: Style) -> None:
    shown = inert(text, style)

    check_visible(shown, "\n\t" if style is Style.BOX else "")
    assert undo(shown, style) == text


@NORMAL
@given(texts)
def test_text_in_mrkdwn_forms_no_token_and_no_formatting(text: str) -> None:
    shown = mrkdwn(text, 10_000)

    check_mrkdwn(shown)
    assert "<" not in shown
    assert not set("*~`") & set(shown)
    assert not re.search(r":[a-z0-9_+'-]+:", shown)
    assert not re.search(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", shown)


@QUICK
@given(texts, styles)
def test_a_cut_falls_between_atoms_and_is_counted_exactly(text: str, style: Style) -> None:
    whole = inert(text, style)
    for limit in range(units(whole) + 2):
        part = clip(text, limit, style)
        rest = whole.removeprefix(part.text)
        assert units(part.text) <= limit
        assert part.text + rest == whole
        assert undo(part.text, style) == text[: part.shown]
        assert part.complete == (not rest)
        assert not rest or not unicodedata.category(rest[0]).startswith("M")


@pytest.mark.parametrize("style", [style for style in Style if style is not Style.MADE])
@pytest.mark.parametrize(
    "cluster",
    [
        "\U0001f44d\U0001f3fd",
        "\u2600\ufe0f",
        "1\ufe0f\u20e3",
        "\U0001f1e9\U0001f1ea",
        "e\u0301",
        "\U0001f44d",
        "\u202e",
        "\ud83d",
        "<",
        "&",
        "*",
    ],
)
def test_an_emoji_an_escape_or_an_entity_is_shown_whole_or_not_at_all(
    cluster: str, style: Style
) -> None:
    shown = inert(cluster, style)
    wanted = {"", "a", "ab", f"ab{shown}", f"ab{shown}c", f"ab{shown}cd"}

    assert {clip(f"ab{cluster}cd", limit, style).text for limit in range(30)} == wanted


def test_a_cut_text_says_how_much_is_hidden() -> None:
    assert clip("x" * 4812, 200).note == "first 200 of 4,812 characters"
    assert clip("x" * 200, 200).note == ""


def test_the_count_is_of_characters_and_not_of_what_their_escapes_take() -> None:
    assert clip("\u200b" * 100, 40).note == "first 5 of 100 characters"


def test_lines_can_be_limited_too() -> None:
    part = clip("a\n" * 100, 1000, Style.BOX, breaks=3)
    assert part.text == "a\na\na\na"
    assert part.note == "first 7 of 200 characters"


@QUICK
@given(texts, st.integers(min_value=100, max_value=200))
def test_pieces_together_are_the_whole(text: str, limit: int) -> None:
    parts = list(pieces(text * 10, limit))

    assert "".join(parts) == inert(text * 10, Style.BOX)
    assert all(0 < units(part) <= limit for part in parts)


def test_a_text_made_inert_can_be_cut_again_without_being_escaped_again() -> None:
    made = inert("\u202e" * 50)
    assert "".join(pieces(made, 100, Style.MADE)) == made
    assert all(part.endswith("}") for part in pieces(made, 100, Style.MADE))


def test_quoted_prose_is_one_line_and_tells_of_a_cut() -> None:
    assert quote('say "hi"\n\nthere', 100) == '"say \\"hi\\" there"'
    assert quote("abcdef", 3) == '"abc" (first 3 of 6 characters)'
    assert quote("abcdef", 3, "see x") == '"abc" (first 3 of 6 characters; see x)'


@pytest.mark.parametrize(
    ("limit", "shown"), [(1, 3), (2, 4), (3, 7), (4, 8), (5, 9), (0, 2), (99, 11)]
)
def test_of_prose_the_characters_are_counted_that_it_has_and_not_that_it_takes(
    limit: int, shown: int
) -> None:
    part = clip_prose("  ab\n\n\nc d\n", limit)
    assert (part.shown, part.total) == (shown, 11)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("prod", ()),
        ("pr\u043ed", ("Cyrillic", "Latin")),
        ("\u043f\u0440\u043e\u0434 prod", ()),
        ("\U0001d699\U0001d69b\U0001d698\U0001d68d", ("Mathematical",)),
        ("\u6771\u4eac Tokyo", ()),
    ],
)
def test_words_of_mixed_alphabets_are_noticed(text: str, found: tuple[str, ...]) -> None:
    assert alphabets(text) == found
