"""Texts come back as they were, however they were packed and whoever packed them."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.stores.packing import WORDS, lay, pack, unpack
from tests.factories import make_parked, make_run


@given(st.text() | st.text(min_size=1).map(lambda text: text * 3_000))
def test_a_text_comes_back_as_it_was(text: str) -> None:
    assert unpack(pack(text)) == text


@given(st.text())
def test_a_text_that_was_only_laid_down_comes_back_too(text: str) -> None:
    assert unpack(lay(text)) == text


def test_what_is_stored_can_be_read_for_ever() -> None:
    # Packed by the first release. If this fails, give the new dictionary a letter of its own.
    assert (
        hashlib.sha256(WORDS).hexdigest()
        == "93eb6880d4323ecdfe75c4f3074cb845c84cc66798fc83d288ae9e253939b731"
    )
    assert (
        unpack(bytes.fromhex("3123508519428b2394caa91600"))
        == '{"schema_version":1,"id":"0run_1","status":"waiting"}'
    )


def test_a_parked_run_is_packed_to_less_than_a_third() -> None:
    body = make_parked(make_run()).model_dump_json()

    assert len(pack(body)) * 3 < len(body)


@pytest.mark.parametrize(
    "blob", [b"", b"1", b"1damaged", b"p\xff", b"9of a later version", pack("a" * 999)[:-2]]
)
def test_what_cannot_be_unpacked_is_no_record(blob: bytes) -> None:
    assert unpack(blob) == ""
