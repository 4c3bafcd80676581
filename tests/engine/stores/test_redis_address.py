"""The address of a Redis store: every form is read, and no mistake gives its password away."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ConfigurationError
from engine.stores.redis_address import (
    Login,
    Node,
    Place,
    RedisAddress,
    Tls,
    Topology,
    read_address,
)

HOME = Node("127.0.0.1", 6379)

GOOD = {
    "redis://127.0.0.1": RedisAddress(Topology.SINGLE, (HOME,)),
    "redis://127.0.0.1/": RedisAddress(Topology.SINGLE, (HOME,)),
    "REDIS://store.test:6380/3": RedisAddress(
        Topology.SINGLE, (Node("store.test", 6380),), Place(db=3)
    ),
    "redis://[::1]:6380": RedisAddress(Topology.SINGLE, (Node("::1", 6380),)),
    "redis://[::1]": RedisAddress(Topology.SINGLE, (Node("::1", 6379),)),
    "redis://bot:p%40ss%3A%2F%3F%23%25@127.0.0.1": RedisAddress(
        Topology.SINGLE, (HOME,), login=Login("bot", "p@ss:/?#%")
    ),
    "redis://:word@127.0.0.1": RedisAddress(Topology.SINGLE, (HOME,), login=Login("", "word")),
    "rediss://127.0.0.1": RedisAddress(Topology.SINGLE, (HOME,), tls=Tls()),
    "rediss://127.0.0.1?ssl_ca_certs=/ca.pem&ssl_certfile=c&ssl_keyfile=k&ssl_check_hostname=no": (
        RedisAddress(Topology.SINGLE, (HOME,), tls=Tls("/ca.pem", "c", "k", check_hostname=False))
    ),
    "unix:///run/redis.sock": RedisAddress(Topology.SOCKET, place=Place(socket="/run/redis.sock")),
    "unix://bot:word@/run/a%20b.sock?db=2": RedisAddress(
        Topology.SOCKET, place=Place(socket="/run/a b.sock", db=2), login=Login("bot", "word")
    ),
    "redis+sentinel://a,b:1/main": RedisAddress(
        Topology.SENTINEL, (Node("a", 26379), Node("b", 1)), Place(service="main")
    ),
    "rediss+sentinel://u:p@a/my%2Fmain/4?sentinel_username=s&sentinel_password=t": RedisAddress(
        Topology.SENTINEL,
        (Node("a", 26379),),
        Place(service="my/main", db=4),
        Login("u", "p"),
        Login("s", "t"),
        Tls(),
    ),
    "redis+cluster://a:1,[::1]:2,c": RedisAddress(
        Topology.CLUSTER, (Node("a", 1), Node("::1", 2), Node("c", 6379))
    ),
    "redis+cluster://a/0": RedisAddress(Topology.CLUSTER, (Node("a", 6379),)),
}

BAD = {
    "": "use redis://host:port/db",
    "hunter2": "use redis://host:port/db",
    "http://hunter2@a": "use redis://host:port/db",
    "valkey://a": "use redis://host:port/db",
    "redissss://a": "use redis://host:port/db",
    "rediss+unix:///a": "use redis://host:port/db",
    "redis:/a": "use redis://host:port/db",
    "redis://": "names no host",
    "redis://u:hunter2@": "names no host",
    "redis://u:hunter2@:6379": "names no host",
    "redis://u:hunter2/x@a": "port that is no number",
    "redis://u:hun:ter2@a": "more than one ':'",
    "redis://u:hunter2#x@a": "holds a '#'",
    "redis://u:hunter2@a#": "holds a '#'",
    "redis://u:hunter2?x@a": "port that is no number|parameters that cannot be read",
    "redis://u:hunter2%FF@a": "not as UTF-8",
    "redis://a:0": "port that is no number from 1 to 65535",
    "redis://a:65536": "port that is no number from 1 to 65535",
    "redis://a:": "port that is no number from 1 to 65535",
    "redis://a:\N{SUPERSCRIPT TWO}": "port that is no number",
    "redis://[::1": "brackets",
    "redis://[hunter2]": "brackets|no IPv6",
    "redis://[::1]6379": "port that is no number",
    "redis://a,b": "several hosts",
    "redis://a/x": "database that is no number",
    "redis://a/-1": "database that is no number",
    "redis://a/0/1": "more parts in its path",
    "redis://a?db=1": "it takes: none",
    "redis://a?ssl_ca_certs=/ca": "it takes: none",
    "redis://a?hunter2=": "it takes: none",
    "rediss://a?ssl_cert_reqs=none": "it takes: ssl_ca_certs",
    "rediss://a?ssl_check_hostname=perhaps": "neither yes nor no",
    "rediss://a?ssl_keyfile=k": "without its ssl_certfile",
    "rediss://a?ssl_ca_certs=a&ssl_ca_certs=b": "parameter twice",
    "rediss://a?ssl_ca_certs": "parameters that cannot be read",
    "unix://": "names no socket",
    "unix:///": "names no socket",
    "unix://host/run/s": "names no host",
    "unix:///run/s?db=x": "database that is no number",
    "redis+sentinel://a,b": "names no service",
    "redis+sentinel://a,b//0": "names no service",
    "redis+sentinel://a/main/0/1": "more parts",
    "redis+sentinel://a,,b/main": "an empty one",
    "redis+cluster://a,a": "a host twice",
    "redis+cluster://a/1": "only database 0",
    "redis+cluster://a?sentinel_password=hunter2": "it takes: none",
}


@pytest.mark.parametrize("url", GOOD)
def test_each_form_is_read(url: str) -> None:
    assert read_address(url) == GOOD[url]


@pytest.mark.parametrize("url", BAD)
def test_a_mistake_is_named_and_nothing_of_the_address_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError, match=BAD[url]) as refused:
        read_address(url)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://bot:hunter2@a", "redis://bot:***@a:6379"),
        ("redis://:hunter2@[::1]:1/2", "redis://:***@[::1]:1/2"),
        ("redis://bot@a", "redis://bot@a:6379"),
        ("unix://:hunter2@/run/a%20b?db=2", "unix://:***@/run/a%20b?db=2"),
        (
            "rediss+sentinel://a,b/m%2Fn/1?sentinel_password=hunter2",
            "rediss+sentinel://a:26379,b:26379/m%2Fn/1",
        ),
        ("rediss+cluster://u:hunter2@a?ssl_ca_certs=/ca", "rediss+cluster://u:***@a:6379"),
    ],
)
def test_an_address_is_shown_without_its_passwords(url: str, shown: str) -> None:
    address = read_address(url)
    assert str(address) == shown
    assert repr(address) == f"RedisAddress('{shown}')"
    assert "hunter2" not in repr((address, address.login, address.sentinel_login))


def test_the_passwords_are_told_to_who_masks_them() -> None:
    both = read_address("redis+sentinel://:one@a/m?sentinel_password=two")
    assert both.secrets == ("one", "two")
    assert read_address("redis://a").secrets == ()


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=4))
def test_any_password_can_be_given_percent_encoded_and_is_shown_nowhere(secret: str) -> None:
    encoded = "".join(f"%{byte:02X}" for byte in secret.encode())
    address = read_address(f"redis://bot:{encoded}@a:1/2")
    assert address.login == Login("bot", secret)
    assert str(address) == "redis://bot:***@a:1/2"


@given(st.text())
def test_nothing_but_a_typed_error_comes_of_any_text(text: str) -> None:
    for scheme in Topology:
        try:
            read_address(f"{scheme}://{text}")
        except ConfigurationError:
            continue
