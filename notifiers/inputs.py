"""The inputs of a form for arguments: one for each, filled with its value, and how it is read back.

A value that a plain input would not show as it is (it is invisible, reorders its neighbours, or
has blanks at its ends) stands there as JSON, where everything is spelled out. What people do not
touch stays exactly as it was.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from math import isfinite
from unicodedata import bidirectional

from engine.arguments import strict_json
from engine.cards import TicketNotice
from engine.errors import InvalidArgumentsError, ToolCallError
from engine.fields import Field, FieldKind
from engine.redaction import escape_step, mask
from engine.schema import Json, canonical_json
from notifiers import limits, names
from notifiers.arguments import DEFAULT, Secret, summary
from notifiers.blocks import Block, plain
from notifiers.text import Style, alphabets, clip_prose, inert, units

_ABSENT = "absent"
_NULL = "null"
_NOT_GIVEN = "(not given)"
_LONG_DEFAULT = "(default, see the card)"
_WHOLE = re.compile(r"-?[0-9]{1,400}\Z")
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
_KEPT = "Kept secret. Leave it empty to keep it as it is."


@dataclass(frozen=True, slots=True)
class Input:
    """One input.

    Attributes:
        initial: What stands in it when the form opens, as Slack gives it back.
        given: Whether the call has this argument.
        secret: Whether it is kept secret, wholly or in part: then nothing stands in it.
        default: What is told of the tool's default, where it is not given.
        options: Of a choice: what each value that Slack gives back stands for.

    """

    field: Field
    kind: FieldKind
    number: int
    initial: str
    given: bool
    secret: bool = False
    options: tuple[tuple[str, Json], ...] = ()
    default: str = ""

    @property
    def block(self) -> str:
        """Return the id of its block."""
        return f"{names.EDIT_BLOCK}.{self.number}"


def inputs_of(notice: TicketNotice) -> tuple[Input, ...]:
    """Return an input for each argument of a call that may be edited."""
    arguments, secret = _arguments(notice), _secret(notice)
    fields = list(notice.fields or ())
    named = {field.name for field in fields}
    fields += [Field(name=name, kind=FieldKind.JSON) for name in arguments if name not in named]
    found = [
        _input(field, number, arguments, f"/{escape_step(field.name)}" in secret)
        for number, field in enumerate(fields)
    ]
    return tuple(one if one.given else _with_default(one, notice) for one in found)


def _with_default(one: Input, notice: TicketNotice) -> Input:
    at = f"/{escape_step(one.field.name)}"
    stated = tuple(default for default in notice.declared.defaults if default.at == at)
    if not stated:
        return one
    told = summary(None, Secret(defaults=stated), limits.PLACEHOLDER)
    return replace(one, default=told if DEFAULT in told else _LONG_DEFAULT)


def can_edit(notice: TicketNotice) -> bool:
    """Tell whether a form holds all that there is to edit."""
    if notice.fields is None or notice.token is None:
        return False
    if _too_long(notice):
        return False
    found = inputs_of(notice)
    if not 0 < len(found) <= limits.VIEW_BLOCKS - limits.EDIT_HEAD or not all(map(_fits, found)):
        return False
    size = len(json.dumps([input_block(one) for one in found]))
    return size <= limits.VIEW_BYTES - limits.EDIT_REST


def _too_long(notice: TicketNotice) -> bool:
    """Tell, before any of it is spelled for people, whether a value is too long for its input."""
    secret = _secret(notice)
    return any(
        len(value if isinstance(value, str) else canonical_json(value)) > limits.INPUT_LENGTH
        for name, value in _arguments(notice).items()
        if f"/{escape_step(name)}" not in secret
    )


def _arguments(notice: TicketNotice) -> Mapping[str, Json]:
    return notice.arguments if isinstance(notice.arguments, dict) else {}


def _secret(notice: TicketNotice) -> frozenset[str]:
    """Return where the arguments are that are secret, wholly or in part."""
    return frozenset(f"/{at.split('/')[1]}" for at in (*notice.hidden, *notice.masked))


def _fits(one: Input) -> bool:
    name = one.field.name
    tellable = mask(name) == name and units(inert(name, Style.LINE)) <= limits.NAME
    return tellable and units(one.initial) <= limits.INPUT_LENGTH


def _input(field: Field, number: int, arguments: Mapping[str, Json], secret: bool) -> Input:  # noqa: FBT001 - read once
    given, value = field.name in arguments, arguments.get(field.name)
    if secret:
        kind = FieldKind.TEXT if field.kind is FieldKind.TEXT else FieldKind.JSON
        return Input(field, kind, number, "", given=True, secret=True)
    options = _options(field)
    if options and (not given or _key_of(options, value)):
        initial = _key_of(options, value) if given else _ABSENT
        return Input(field, FieldKind.CHOICE, number, initial, given, options=options)
    if not given or (value is None and field.nullable):
        kind = FieldKind.JSON if field.kind in _CHOSEN else field.kind
        return Input(field, kind, number, "", given)
    kind = field.kind if _shows(field.kind, value) else FieldKind.JSON
    return Input(field, kind, number, _spelled(kind, value), given)


_CHOSEN = frozenset({FieldKind.BOOLEAN, FieldKind.CHOICE})


def _options(field: Field) -> tuple[tuple[str, Json], ...]:
    """Return what may be chosen; nothing where a list of it would not fit."""
    if field.kind not in _CHOSEN:
        return ()
    choices: Sequence[Json] = (True, False) if field.kind is FieldKind.BOOLEAN else field.choices
    options = [(f"v{number}", one) for number, one in enumerate(choices)]
    if field.nullable:
        options.append((_NULL, None))
    short = all(units(_option_text(one)) <= limits.OPTION_TEXT for one in choices)
    fits = short and 0 < len(options) < limits.SELECT_OPTIONS
    return tuple(options) if fits else ()


def _option_text(value: Json) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    plainly = value and inert(value, Style.LINE) == value and value.strip() == value
    return value if plainly else f'"{inert(value, Style.QUOTED)}"'


def _key_of(options: Sequence[tuple[str, Json]], value: Json) -> str:
    # True == 1, and they are two things to a tool.
    same = (key for key, one in options if type(one) is type(value) and one == value)
    return next(same, "")


def _shows(kind: FieldKind, value: Json) -> bool:
    """Tell whether an input of this kind shows the value as it is."""
    match value:
        case bool() | None | list() | dict():
            return False
        case str():
            if kind is FieldKind.DATE:
                return _is_date(value)
            return kind is FieldKind.TEXT and value.strip() == value and _is_visible(value)
        case int():
            whole = kind in {FieldKind.INTEGER, FieldKind.NUMBER}
            return whole and abs(value) < limits.EXACT_NUMBER
        case float():
            exact = abs(value) < limits.EXACT_NUMBER and "e" not in repr(value)
            return kind is FieldKind.NUMBER and exact


def _is_visible(text: str) -> bool:
    reorders = any(bidirectional(letter) in _RIGHT_TO_LEFT for letter in text)
    return not reorders and inert(text, Style.BOX) == text


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _spelled(kind: FieldKind, value: Json) -> str:
    if kind is not FieldKind.JSON:
        return value if isinstance(value, str) else json.dumps(value)
    indent = 2 if value and isinstance(value, dict | list) else None
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return text if _is_visible(text) else json.dumps(value, indent=indent)


def input_block(one: Input) -> Block:
    """Return the input block, filled in."""
    made: Block = {
        "type": "input",
        "block_id": one.block,
        "label": plain(inert(one.field.name, Style.LINE) or '""'),
        "element": {**_element(one), "action_id": names.EDIT_INPUT},
        "optional": one.kind is not FieldKind.CHOICE,
    }
    hint = ". ".join(_hints(one))
    return {**made, "hint": plain(hint)} if hint else made


def _element(one: Input) -> Block:
    match one.kind:
        case FieldKind.CHOICE:
            return _select(one)
        case FieldKind.DATE:
            chosen = {"initial_date": one.initial} if one.initial else {}
            return {"type": "datepicker"} | _empty(one) | chosen
        case FieldKind.INTEGER | FieldKind.NUMBER:
            decimal = one.kind is FieldKind.NUMBER
            made: Block = {"type": "number_input", "is_decimal_allowed": decimal}
        case _:
            lines = one.kind is FieldKind.JSON or "\n" in one.initial or not one.initial
            made = {
                "type": "plain_text_input",
                "multiline": lines or len(one.initial) > limits.NAME,
            }
            made["max_length"] = limits.INPUT_LENGTH
    return made | _empty(one) | ({"initial_value": one.initial} if one.initial else {})


def _empty(one: Input) -> Block:
    return {"placeholder": plain(one.default)} if one.default else {}


def _select(one: Input) -> Block:
    options = [
        {"text": plain("null" if key == _NULL else _option_text(value)), "value": key}
        for key, value in one.options
    ]
    if not one.field.required or not one.given:
        options.append({"text": plain(one.default or _NOT_GIVEN), "value": _ABSENT})
    first = next(option for option in options if option["value"] == one.initial)
    return {"type": "static_select", "options": options, "initial_option": first}


def _hints(one: Input) -> Iterator[str]:
    if one.secret:
        yield _KEPT.rstrip(".")
    if one.kind is FieldKind.JSON:
        yield "JSON"
    mixed = alphabets(one.initial)
    if mixed:
        yield f"Mixes {' and '.join(mixed)} letters"
    if one.field.about:
        about = clip_prose(mask(one.field.about), limits.HINT)
        yield about.text + ("" if about.complete else "\u2026")


def read_inputs(
    found: Sequence[Input], arguments: Mapping[str, Json], typed: Mapping[str, str]
) -> dict[str, Json]:
    """Return the arguments as they were edited.

    Args:
        found: The inputs of the form.
        arguments: The call's arguments as they would run, secrets included.
        typed: What stood in the inputs, by their blocks.

    Raises:
        InvalidArgumentsError: something in an input is no value of its kind.

    """
    faults: list[tuple[str, str]] = []
    edited: dict[str, Json] = {}
    for one in found:
        name, said = one.field.name, typed.get(one.block, "")
        try:
            if said != one.initial:
                edited.update((name, value) for value in _values(one, said))
            elif name in arguments:
                edited[name] = arguments[name]
        except ValueError as error:
            faults.append((name, str(error)))
    if faults:
        raise InvalidArgumentsError(faults)
    return edited


def _values(one: Input, said: str) -> Iterator[Json]:
    """Yield the value that was put in, or nothing where the argument is not given any more."""
    if one.kind is FieldKind.CHOICE:
        yield from _chosen(one, said)
    elif said == "":
        yield from _emptied(one)
    else:
        yield _value(one.kind, said)


def _chosen(one: Input, said: str) -> Iterator[Json]:
    found = [value for key, value in one.options if key == said]
    if not found and said != _ABSENT:
        raise ValueError("choose one of these")
    yield from found


def _emptied(one: Input) -> Iterator[Json]:
    if not one.field.required:
        return
    if one.field.nullable:
        yield None
    elif one.field.kind is FieldKind.TEXT:
        yield ""
    else:
        raise ValueError("it needs a value")


def _value(kind: FieldKind, said: str) -> Json:
    match kind:
        case FieldKind.INTEGER:
            if not _WHOLE.match(said.strip()):
                raise ValueError("this is not a whole number")
            return int(said)
        case FieldKind.NUMBER:
            return _number(said.strip())
        case FieldKind.JSON:
            return _json(said)
        case _:
            return said


def _number(said: str) -> Json:
    if _WHOLE.match(said):
        return int(said)
    try:
        number = float(said)
    except ValueError:
        raise ValueError("this is not a number") from None
    if not isfinite(number):
        raise ValueError("this is not a number")
    return number


def _json(said: str) -> Json:
    if not said.strip():
        raise ValueError("it needs a value")
    try:
        value: Json = strict_json(said)
    except ToolCallError as error:
        raise ValueError(f"as JSON, {error}") from None
    return value
