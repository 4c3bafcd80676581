"""Whether a host, an address or a channel can be one at all, and which hosts are this machine."""

import re
import unicodedata
from ipaddress import ip_address
from urllib.parse import urlsplit

_LAST_PORT = 65535
_DIGITS = 5
_CHANNEL = re.compile(r"[CGD][A-Z0-9]{2,}\Z")


def check_text(text: str) -> str:
    """Return a setting that is one line of text.

    Raises:
        ValueError: it holds a control character, or bytes that are no UTF-8.

    """
    kinds = {unicodedata.category(letter) for letter in text}
    if "Cs" in kinds:
        raise ValueError("holds bytes that are no UTF-8 text")
    if "Cc" in kinds:
        raise ValueError("holds a line break or another control character: keep it on one line")
    return text


def check_channel(channel: str) -> str:
    """Return the id of a Slack channel, group or DM, or nothing.

    Raises:
        ValueError: it is something else, such as a channel's name, which Slack takes only at times
            (https://docs.slack.dev/reference/objects/conversation-object).

    """
    if channel and not _CHANNEL.match(channel):
        told = f"is {channel!r}, no id of a channel"
        raise ValueError(f"{told}: set its id (C...), from the foot of its details in Slack")
    return channel


def check_host(host: str) -> str:
    """Return a host that a name may be looked up for.

    Raises:
        ValueError: no host can have this name (https://www.rfc-editor.org/rfc/rfc1035).

    """
    try:
        host.encode("idna")
    except UnicodeError:
        raise ValueError(f"is {host!r}, which is no name of a host") from None
    return host


def check_port(port: object) -> int:
    """Return a TCP port; 0 asks for a free one.

    Raises:
        ValueError: it is none.

    """
    digits = str(port)
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS):
        raise ValueError(f"must be a number from 0 to {_LAST_PORT}")
    number = int(digits)
    if number > _LAST_PORT:
        raise ValueError(f"must be a number from 0 to {_LAST_PORT}")
    return number


def check_address(url: str, example: str) -> str:
    """Return an http or https address that ends with a slash.

    Raises:
        ValueError: it is none.

    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"must be an http or https address, such as {example}")
    check_host(parts.hostname)
    try:
        _ = parts.port
    except ValueError:
        raise ValueError(f"must have a port from 0 to {_LAST_PORT}, or none") from None
    return url if url.endswith("/") else f"{url}/"


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
