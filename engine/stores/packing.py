"""Texts as the stores keep them: compressed, with the words that all of them are made of.

A run's body is small and mostly names of fields, so plain compression gains little: a parked run of
1,670 bytes came to 802, and comes to 386 with a dictionary. A small window also costs a third of
zlib's time (103 and 22 us, one core of a shared machine).
"""

import zlib

_PLAIN, _PACKED = b"p", b"1"
_LEVEL, _SMALL_WINDOW, _WINDOW = 3, -12, -15
_WORTH_PACKING = 160
_SMALL = 4_096
_LITTLE_MEMORY, _MEMORY = 5, 8

# Never to be changed: whatever is packed with it cannot be unpacked without it. Another dictionary
# would be another letter before what is packed with it.
WORDS = b"".join(
    (
        b'"},"link":""},{"seq":1,"at":"2026-01-01T00:00:00.000000Z","fact":{"kind":"run_succeeded"},',
        b'{"kind":"ticket_closed","approval":"apr_","call":"1.0","resolution":{"decision":{"kind":',
        b'"deny","reason":""},"actor":{"kind":"human","team":"T","id":"U","via":"slack"},"at":"",',
        b'"timed_out":false,"withdrawn":false}},{"kind":"call_finished","call":"1.0","tool":"",',
        b'"outcome":"succeeded","seconds":0.0},{"kind":"call_started","call":"1.0","tool":"","op":',
        b'"0run_:1.0","attempt":1},"link":"[{"seq":1,"at":"2026-01-01T00:00:00.000000Z","fact":',
        b'{"kind":"run_started","agent":"","owner":"U","requester":"U"},"link":""}]{"seq":2,"at":"',
        b'2026-01-01T00:00:00Z","fact":{"kind":"call_gated","call":"1.0","tool":"","digest":"",',
        b'"verdict":"ask"},"link":""},{"seq":3,"at":"2026-01-01T00:00:00Z","fact":{"kind":',
        b'"ticket_opened","approval":"apr_","ref":"","target":"tool_permission","call":"1.0",',
        b'"digest":"","deadline":"2026-01-02T00:00:00.000000Z"},"link":""}]{"schema_version":1,',
        b'"id":"0run_","ref":"","version":2,"status":"queued","status":"waiting","agent":"",',
        b'"snapshot":"","owner":"U","requester":"U","origin":{"via":"slack","channel":"C","thread":',
        b'""},"origin":{"via":"api","channel":"","thread":""},"context":null,"conversation":"0run_',
        b'","notify":"slack","concurrency_key":"","priority":0,"trace":"trc_","attempt":"att_",',
        b'"created_at":"2026-01-01T00:00:00.000000Z","updated_at":"2026-01-01T00:00:00.000000Z",',
        b'"entry_count":1,"batch":{"entry":1,"calls":[{"id":"1.0","provider_id":"","tool":"",',
        b'"digest":"","fingerprint":"","verdict":"ask","state":"executing","state":"awaiting",',
        b'"replay":"never","timeout_s":600.0,"declared":{"risk":"high","title":"","untitled":"",',
        b'"secrets":[]},"approval":"apr_","inquiry":null,"attempts":0,"op":null,"started_at":null}',
        b']},"tickets":[{"schema_version":1,"approval":"apr_","ref":"","run":',
        b'"0run_","conversation":"0run_","snapshot":"","fingerprint":"","token":"tok_","target":',
        b'{"kind":"tool_permission","call":"1.0","tool":""},"digest":"","opened_at":"2026-01-01T',
        b'00:00:00.000000Z","deadline":"2026-01-02T00:00:00.000000Z","approvers":{"people":["U"],',
        b'"groups":[],"channels":[],"on_call":false,"quorum":1,"four_eyes":false,"admitted":[],',
        b'"stand_ins":[]},"requester":"U","declared":{"risk":null,"title":"","untitled":"",',
        b'"secrets":[]},"votes":[],"resolution":null,"seal":""}],"refused":[],"retries":0,',
        b'"usage":{"requests":1,"input_tokens":0,"output_tokens":0},"batch":null,"tickets":[],"refused":[],"retries":0,"usage":{',
        b'"requests":0,"input_tokens":0,"output_tokens":0},"cancel":null,"output":null,"failure":',
        b'null,"event_count":3,"event_head":""}9{"link":"https://slack.com/archives/C0",',
        b'"note":"thread","shown":true,"also":[]}11{"link":"","note":"","shown":true,"also":[]}',
    )
)


# Copied for each text: a copy costs less than reading the words in anew (8 of 25 us).
_FOR_SMALL, _FOR_LARGE = (
    zlib.compressobj(_LEVEL, zlib.DEFLATED, window, memory, zlib.Z_DEFAULT_STRATEGY, WORDS)
    for window, memory in ((_SMALL_WINDOW, _LITTLE_MEMORY), (_WINDOW, _MEMORY))
)


def pack(text: str) -> bytes:
    """Return a text as bytes, compressed where that pays."""
    plain = text.encode()
    if len(plain) < _WORTH_PACKING:
        return _PLAIN + plain
    packer = (_FOR_SMALL if len(plain) <= _SMALL else _FOR_LARGE).copy()
    packed = packer.compress(plain) + packer.flush()
    return _PACKED + packed if len(packed) < len(plain) else _PLAIN + plain


def lay(text: str) -> bytes:
    """Return a text as bytes that ``unpack`` takes too: for what is soon to be replaced."""
    return _PLAIN + text.encode()


def unpack(blob: bytes) -> str:
    """Return the text of bytes; an empty one, which no reader takes for a record, if damaged."""
    try:
        match blob[:1]:
            case b"p":
                return blob[1:].decode()
            case b"1":
                unpacker = zlib.decompressobj(_WINDOW, WORDS)
                plain = unpacker.decompress(blob[1:])
                return plain.decode() if unpacker.eof else ""
            case _:
                return ""
    except (zlib.error, UnicodeDecodeError):
        return ""
