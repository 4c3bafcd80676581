"""What a failed Slack call means for the next try.

Codes: the error lists of chat.postMessage, chat.update and conversations.open as collected in
slack-ruby/slack-api-ref. A code that is in no list here is taken for temporary.
"""

import re
from enum import Enum

from slack_sdk.errors import SlackApiError

from engine.errors import DeliveryError


class Refusal(Enum):
    """What to do after Slack said no."""

    PLACE = "place"
    """This place will not do; another may."""
    APP = "app"
    """The app itself is refused, everywhere."""
    CONTENT = "content"
    """Slack does not take these blocks; plainer ones may do."""
    GONE = "gone"
    """The message cannot be changed any more."""
    LATER = "later"
    """It may work later; whether it was done is not known after a server's error."""


_CODES = {
    Refusal.PLACE: """
        as_user_not_supported cannot_dm_bot cannot_reply_to_message channel_not_found
        channel_type_not_supported external_channel_migrating invalid_channel invalid_users
        is_archived is_inactive messages_tab_disabled method_not_supported_for_channel_type
        not_in_channel posting_to_general_channel_denied restricted_action
        restricted_action_non_threadable_channel restricted_action_read_only_channel
        restricted_action_thread_locked restricted_action_thread_only_channel
        slack_connect_canvas_sharing_blocked slack_connect_file_link_sharing_blocked
        thread_not_found user_disabled user_not_found user_not_visible users_not_found
        """,
    Refusal.APP: """
        access_denied account_inactive app_missing_action_url deprecated_endpoint ekm_access_denied
        enterprise_is_restricted invalid_auth missing_scope no_permission not_allowed_token_type
        not_authed org_login_required token_expired token_revoked team_access_not_granted
        two_factor_setup_required
        """,
    Refusal.CONTENT: """
        attachment_payload_limit_exceeded block_mismatch blocks_too_large invalid_arguments
        invalid_blocks invalid_blocks_format invalid_metadata_format invalid_metadata_schema
        markdown_text_conflict metadata_too_large msg_blocks_too_long msg_too_long no_text
        """,
    Refusal.GONE: """
        cant_update_message edit_window_closed message_not_found
        """,
}
_KINDS = {code: kind for kind, codes in _CODES.items() for code in codes.split()}
_CODE = re.compile(r"[a-z_]{1,80}\Z")
_TOO_MANY = 429
_SERVER_ERRORS = 500
_LONGEST_WAIT = 3600.0


class CallError(Exception):
    """A Slack call that failed: what it means, in words that hold no secret."""

    def __init__(
        self, method: str, code: str, kind: Refusal, *, retry_after: float | None = None
    ) -> None:
        """Keep what the notifier and the courier need."""
        super().__init__(f"{method}: {code}")
        self.code = code
        self.kind = kind
        self.retry_after = retry_after

    def as_delivery_error(self) -> DeliveryError:
        """Return what the courier is told."""
        permanent = self.kind is not Refusal.LATER
        return DeliveryError(f"Slack {self}", permanent=permanent, retry_after=self.retry_after)


def read_refusal(method: str, error: SlackApiError) -> CallError:
    """Return the meaning of Slack's answer; of its text only the error code is used."""
    response = error.response
    # An answer that is not JSON comes as aiohttp's own response.
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0))
    if status == _TOO_MANY:
        wait = _retry_after(response.headers.get("Retry-After"))
        return CallError(method, "ratelimited", Refusal.LATER, retry_after=wait)
    if status >= _SERVER_ERRORS:
        return CallError(method, f"HTTP {status}", Refusal.LATER)
    data = getattr(response, "data", None)
    said = data.get("error") if isinstance(data, dict) else None
    code = said if isinstance(said, str) and _CODE.match(said) else "unreadable answer"
    return CallError(method, code, _KINDS.get(code, Refusal.LATER))


def _retry_after(header: str | None) -> float | None:
    """Return the seconds to wait: whole ones by https://docs.slack.dev/apis/web-api/rate-limits."""
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return min(seconds, _LONGEST_WAIT) if seconds >= 0 else None
