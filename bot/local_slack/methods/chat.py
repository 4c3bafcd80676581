"""The chat.* methods.

Sources: docs.slack.dev/methods (error lists as collected in slack-ruby/slack-api-ref), and the
SLACK reference 2.1, 2.5 and 2.6.
"""

from __future__ import annotations

from typing import Any

from bot.local_slack.errors import SlackError
from bot.local_slack.messages import Message, as_slack
from bot.local_slack.methods import find
from bot.local_slack.methods.call import Call, Json, Method
from bot.local_slack.rules import check_message, check_metadata
from bot.local_slack.rules.checks import utf16
from bot.local_slack.rules.message import MAX_POST_TEXT, MAX_UPDATE_TEXT

MAX_MARKDOWN_TEXT = 12_000


def post_message(call: Call) -> Json:
    """chat.postMessage: text beyond 40,000 characters is cut, with a warning."""
    channel = find.channel_to_post(call)
    find.must_be_member(call, channel, unless="chat:write.public")
    text, blocks = _content(call)
    metadata = _metadata(call)
    kept = _cut(text, MAX_POST_TEXT)
    space = call.workspace
    message = space.post(
        channel.id,
        space.world.app.bot_user,
        kept,
        blocks=blocks,
        thread_ts=call.text("thread_ts") or None,
        metadata=metadata,
    )
    answer: Json = {
        "channel": channel.id,
        "ts": message.ts,
        "message": as_slack(message, space.world, space.messages, with_metadata=True),
    }
    if kept != text:
        # In both places: slackhq/slack-api-docs, index_web.md, and
        # https://api.slack.com/changelog/2016-09-28-response-metadata-is-on-the-way
        answer["warning"] = "message_truncated"
        answer["response_metadata"] = {"warnings": ["message_truncated"]}
    return answer


def update(call: Call) -> Json:
    """chat.update: blocks and metadata that are not sent stay as they were.

    To take the blocks (and so the buttons) away, an empty list has to be sent: "If you don't
    include this field, the message's previous blocks will be retained" (api.slack.com spec).
    """
    message = _own_message(call, "cant_update_message")
    text, blocks = _content(call, message)
    if utf16(text) > MAX_UPDATE_TEXT:
        raise SlackError("msg_too_long")
    metadata = _metadata(call)
    space = call.workspace
    space.edit(message, text=text, blocks=blocks, metadata=metadata)
    return {
        "channel": message.channel,
        "ts": message.ts,
        "text": message.text,
        "message": as_slack(message, space.world, space.messages, with_metadata=True),
    }


def post_ephemeral(call: Call) -> Json:
    """chat.postEphemeral: only for someone who is in the channel; in no history."""
    channel = find.channel(call)
    find.must_be_member(call, channel)
    person = call.required("user")
    if person not in channel.members:
        raise SlackError("user_not_in_channel")
    text, blocks = _content(call)
    if utf16(text) > MAX_POST_TEXT:
        raise SlackError("msg_too_long")
    message = call.workspace.post(
        channel.id,
        call.workspace.world.app.bot_user,
        text,
        blocks=blocks,
        thread_ts=call.text("thread_ts") or None,
        ephemeral_to=person,
    )
    return {"message_ts": message.ts}


def delete(call: Call) -> Json:
    """chat.delete: the bot's own messages only."""
    message = _own_message(call, "cant_delete_message")
    call.workspace.delete(message)
    return {"channel": message.channel, "ts": message.ts}


def get_permalink(call: Call) -> Json:
    """chat.getPermalink: a link a person can open."""
    channel = find.channel(call)
    message = _message(call, channel.id, "message_ts")
    domain = call.workspace.world.team.domain
    link = f"https://{domain}.slack.com/archives/{channel.id}/p{message.ts.replace('.', '')}"
    if message.thread_ts:
        link += f"?thread_ts={message.thread_ts}&cid={channel.id}"
    return {"channel": channel.id, "permalink": link}


def _own_message(call: Call, refusal: str) -> Message:
    channel = find.channel(call)
    message = _message(call, channel.id, "ts")
    if channel.is_archived:
        raise SlackError("is_archived")
    if message.user != call.workspace.world.app.bot_user:
        raise SlackError(refusal)
    return message


def _message(call: Call, channel: str, name: str) -> Message:
    message = call.workspace.messages.find(channel, call.required(name))
    if message is None or message.ephemeral_to:
        raise SlackError("message_not_found")
    return message


def _content(call: Call, previous: Message | None = None) -> tuple[str, list[Any]]:
    if call.arguments.get("attachments") not in (None, [], "[]"):
        # Slack takes them; this fake would lose what is in them, so it says so.
        raise SlackError("invalid_attachments", "attachments are not modelled here; use blocks")
    if call.has("markdown_text"):
        return _markdown(call), []
    text = call.text("text")
    if call.has("blocks"):
        blocks = call.structure("blocks", "invalid_blocks_format")
    else:
        blocks = previous.blocks if previous else []
    if not isinstance(blocks, list):
        raise SlackError("invalid_blocks_format")
    check_message(text, blocks)
    return text, blocks


def _markdown(call: Call) -> str:
    if call.has("text") or call.has("blocks"):
        raise SlackError("markdown_text_conflict")
    text = call.text("markdown_text")
    if utf16(text) > MAX_MARKDOWN_TEXT:
        raise SlackError("msg_too_long")
    check_message(text, [])
    return text


def _metadata(call: Call) -> Json | None:
    if not call.has("metadata"):
        return None
    return check_metadata(call.structure("metadata", "invalid_metadata_format"))


def _cut(text: str, most: int) -> str:
    if utf16(text) <= most:
        return text
    return text.encode("utf-16-le", "surrogatepass")[: most * 2].decode("utf-16-le", "ignore")


METHODS = {
    "chat.postMessage": Method(post_message, ("chat:write",)),
    "chat.update": Method(update, ("chat:write",)),
    "chat.postEphemeral": Method(post_ephemeral, ("chat:write",)),
    "chat.delete": Method(delete, ("chat:write",)),
    "chat.getPermalink": Method(get_permalink),
}
