"""One of every block and element that the page can show, in messages and in a form."""

from typing import Any

Json = dict[str, Any]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def marked(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def option(text: str, value: str, description: str = "") -> Json:
    described = {"description": plain(description)} if description else {}
    return {"text": plain(text), "value": value, **described}


def button(text: str, action: str, **more: Any) -> Json:
    return {"type": "button", "text": plain(text), "action_id": action, **more}


def actions(*elements: Json) -> Json:
    return {"type": "actions", "block_id": "row", "elements": list(elements)}


def asked(block: str, label: str, element: Json, **more: Any) -> Json:
    named = {**element, "action_id": f"{block}_input"}
    return {"type": "input", "block_id": block, "label": plain(label), "element": named, **more}


def literal(text: str, **style: bool) -> Json:
    return {"type": "text", "text": text, **({"style": style} if style else {})}


def rich(kind: str, *elements: Json, **more: Any) -> Json:
    return {"type": f"rich_text_{kind}", "elements": list(elements), **more}


CONFIRM: Json = {
    "title": plain("Really?"),
    "text": marked("This *cannot* be undone."),
    "confirm": plain("Yes, do it"),
    "deny": plain("No"),
    "style": "danger",
}

TEXTS: list[Json] = [
    {"type": "header", "text": plain("Deploy 1.4.2?")},
    {"type": "section", "text": marked("*bold* _slanted_ ~gone~ `code` <@U0ALICE> <#C0GENERAL>")},
    {"type": "section", "text": plain("*plain* <stays> &lt;plain&gt;")},
    {"type": "section", "fields": [marked("*Version*\n1.4.2"), plain("Env\nprod")]},
    {
        "type": "section",
        "text": marked("Docs: <https://docs.example/a?b=1&amp;c=2|the manual>"),
        "accessory": button("Beside", "beside"),
    },
    {"type": "context", "elements": [marked("args `9f2c1a04`"), plain("small print")]},
    {"type": "divider"},
    {"type": "image", "alt_text": "A graph that falls", "image_url": "https://img.example/x.png"},
    {
        "type": "rich_text",
        "elements": [
            rich(
                "section", literal("Rich "), literal("bold", bold=True), literal("code", code=True)
            ),
            rich("preformatted", literal("first line\n  second line")),
            rich("quote", literal("as said")),
            rich(
                "list",
                rich("section", literal("one")),
                rich("section", {"type": "user", "user_id": "U0BOB"}),
                style="ordered",
            ),
        ],
    },
    {"type": "markdown", "text": "# as it is"},
]

CONTROLS: list[Json] = [
    actions(
        button("Approve", "approve", style="primary", value="yes"),
        button("Deny", "deny", style="danger", confirm=CONFIRM),
        {
            "type": "static_select",
            "action_id": "pick",
            "placeholder": plain("Pick one"),
            "options": [option("Red", "red"), option("Blue", "blue")],
        },
        {
            "type": "overflow",
            "action_id": "more",
            "options": [option("Remember", "remember"), option("Who may", "who")],
        },
    )
]

INPUTS: list[Json] = [
    asked("line", "One line", {"type": "plain_text_input", "max_length": 20}),
    asked(
        "lines",
        "Many lines",
        {"type": "plain_text_input", "multiline": True, "initial_value": "as it was"},
        optional=True,
        hint=plain("Say more here"),
    ),
    asked(
        "select",
        "Colour",
        {"type": "static_select", "options": [option("Red", "red"), option("Blue", "blue")]},
        optional=True,
    ),
    asked(
        "radio",
        "Size",
        {
            "type": "radio_buttons",
            "options": [option("Small", "s"), option("Large", "l", "takes longer")],
            "initial_option": option("Small", "s"),
        },
    ),
    asked(
        "checks",
        "Extras",
        {"type": "checkboxes", "options": [option("Salt", "salt"), option("Oil", "oil")]},
        optional=True,
    ),
    asked("day", "Day", {"type": "datepicker", "initial_date": "2026-03-06"}),
    asked("who", "Who", {"type": "users_select", "initial_user": "U0CAROL"}, optional=True),
    asked(
        "several",
        "Several",
        {
            "type": "multi_static_select",
            "options": [option("North", "n"), option("South", "s"), option("West", "w")],
        },
        optional=True,
    ),
    asked(
        "count", "How many", {"type": "number_input", "is_decimal_allowed": False}, optional=True
    ),
]


def form(blocks: list[Json], **more: Any) -> Json:
    return {
        "type": "modal",
        "callback_id": "form",
        "title": plain("A form"),
        "submit": plain("Send"),
        "close": plain("Cancel"),
        "blocks": blocks,
        **more,
    }
