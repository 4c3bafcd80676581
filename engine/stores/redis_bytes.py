"""Texts as they are kept in Redis: long ones compressed."""

import zlib

_PLAIN, _PACKED = b"p", b"z"
_WORTH_PACKING = 200
_LEVEL = 1


def pack(text: str) -> bytes:
    """Return a text as bytes, compressed where that pays."""
    plain = text.encode()
    if len(plain) < _WORTH_PACKING:
        return _PLAIN + plain
    return _PACKED + zlib.compress(plain, _LEVEL)


def unpack(blob: bytes) -> str:
    """Return the text of bytes; an empty one, which no reader takes for a record, if damaged."""
    try:
        plain = zlib.decompress(blob[1:]) if blob[:1] == _PACKED else blob[1:]
        return plain.decode()
    except (zlib.error, UnicodeDecodeError):
        return ""
