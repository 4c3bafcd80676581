"""Ids are random, and never the same twice: not across threads, nor in a forked process."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engine.ids import CROCKFORD, REF_LENGTH, Ids, Pool, RunId, place_for, place_of

ROOT = Path(__file__).parents[2]


def test_an_id_is_its_prefix_and_twenty_letters_of_its_entropy() -> None:
    ids = Ids(lambda count: bytes(range(count)))

    assert ids.new("run") == "run_0123456789abcdefghjk"
    assert ids.ref() == "012345"
    assert Ids(lambda count: bytes([255] * count)).ref() == CROCKFORD[31] * REF_LENGTH


def test_a_place_is_told_by_a_key_alone_and_leads_ids_and_refs() -> None:
    places = {place_for(f"key {number}") for number in range(500)}

    assert places == set("0123456789abcdef")
    # Stored ids depend on it: the rule can never change.
    assert [place_for(key) for key in ("", "staging", "run_0123")] == ["2", "4", "a"]
    assert place_of(RunId(place_for("staging") + "run_0123")) == place_for("staging")
    assert place_of(RunId("run_0123")) == ""
    assert all(Ids().ref(place)[0] == place.upper() for place in places)
    assert {len(Ids().ref(place)) for place in places} == {REF_LENGTH}


def test_a_pool_gives_as_many_bytes_as_asked_and_none_twice() -> None:
    pool = Pool()
    drawn = [pool(20) for _ in range(500)]

    assert {len(one) for one in drawn} == {20}
    assert len(set(drawn)) == 500
    assert len(pool(6)) == 6


def test_threads_that_draw_at_once_never_get_the_same() -> None:
    pool = Pool()
    with ThreadPoolExecutor(8) as threads:
        drawn = list(threads.map(lambda _: pool(20), range(4000)))

    assert len(set(drawn)) == 4000


FORKS = """
import os
from engine.ids import Ids

ids = Ids()
ids.new("run")
child = os.fork()
os.write(1, ids.new("run").encode() + b"\\n")
if child:
    os.waitpid(child, 0)
"""


def test_a_forked_process_does_not_mint_the_ids_of_its_parent() -> None:
    command = [sys.executable, "-c", FORKS]
    told = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)

    one, other = told.stdout.split()
    assert one != other
