"""The egress guard, which says where a delivery may go."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies.http.spellings import FORBIDDEN, PUBLIC
from windlass.config.table import PARSERS
from windlass.strategies.http.net.egress import Egress, EgressRefused

ANYWHERE = "shop.example"


@pytest.mark.parametrize("address", FORBIDDEN)
def test_an_address_that_is_not_for_everybody_is_refused_and_the_reason_given(address: str) -> None:
    refusal = Egress().refusal(ANYWHERE, address)

    assert refusal is not None
    assert FORBIDDEN[address] in refusal


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_reached(address: str) -> None:
    assert Egress().refusal(ANYWHERE, address) is None


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len(FORBIDDEN) >= 60


@pytest.mark.parametrize(
    "address", [text for text, why in FORBIDDEN.items() if why not in ("zone", "not an address")]
)
def test_an_allowed_address_is_opened_and_its_neighbours_are_not(address: str) -> None:
    egress = Egress([address])

    assert egress.refusal(ANYWHERE, address) is None
    assert egress.refusal(ANYWHERE, "10.99.99.99") is not None
    assert egress.refusal(ANYWHERE, "fd99::99") is not None


def test_an_allowed_network_includes_the_addresses_that_carry_its_addresses() -> None:
    egress = Egress(["127.0.0.0/8"])

    for address in ("127.0.0.1", "::ffff:127.0.0.1", "::127.0.0.1", "2002:7f00:1::"):
        assert egress.refusal(ANYWHERE, address) is None, address
    for address in ("::1", "10.0.0.1", "::ffff:10.0.0.1", "0.0.0.0", "fe80::5efe:7f00:1"):
        assert egress.refusal(ANYWHERE, address) is not None, address


def test_every_address_that_is_carried_must_be_allowed() -> None:
    loopback_by_a_private_server = "2001:0:a00:1:0:0:80ff:fffe"

    for allow in (["127.0.0.0/8"], ["10.0.0.0/8"]):
        assert Egress(allow).refusal(ANYWHERE, loopback_by_a_private_server) is not None, allow
    egress = Egress(["127.0.0.0/8", "10.0.0.0/8"])
    assert egress.refusal(ANYWHERE, loopback_by_a_private_server) is None


def test_an_allowed_host_may_be_anywhere() -> None:
    egress = Egress(["Hooks.Internal", "*.cluster.local."])

    for host in ("hooks.internal", "HOOKS.internal.", "a.cluster.local", "a.b.cluster.local."):
        for address in ("10.0.0.1", "::1", "fe80::1%eth0"):
            assert egress.refusal(host, address) is None, host


def test_a_host_that_only_looks_like_an_allowed_one_is_judged_by_its_address() -> None:
    egress = Egress(["hooks.internal", "*.cluster.local"])

    for host in (
        "evilhooks.internal",
        "a.hooks.internal",
        "hooks.internal.evil.example",
        "cluster.local",
        "evilcluster.local",
        "",
    ):
        assert egress.refusal(host, "10.0.0.1") is not None, host
        assert egress.refusal(host, "1.1.1.1") is None, host


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "*",
        "*.",
        "*.10.0.0.1",
        "*.::1",
        "*.10.0.0.0/8",
        "10.0.0.1/8",
        "10.0.0.0/33",
        "10.0.0",
        "127.1",
        "a.*.internal",
        "**.internal",
        "hooks internal",
        "http://hooks.internal",
        "hooks.internal:8080",
        "fe80::1%eth0",
        "fe80::%eth0/64",
        "999.9.9.9",
    ],
)
def test_an_exception_that_cannot_be_read_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match="EGRESS_ALLOW") as caught:
        Egress(["10.0.0.0/8", entry])
    assert repr(entry) in str(caught.value)
    with pytest.raises(ValueError):  # noqa: PT011 (a parser of the settings says no more)
        PARSERS["egress_allow"].parse(["10.0.0.0/8", entry])


def test_what_an_exception_names_is_opened_and_what_is_public_anyway_is_not() -> None:
    egress = Egress(["127.0.0.0/8", "9.9.9.0/24", "hooks.internal"])

    for address in ("127.0.0.1", "::ffff:127.0.0.1", "2002:7f00:1::", "9.9.9.9"):
        assert egress.is_opened(ANYWHERE, address), address
    for address in ("1.1.1.1", "::1", "10.0.0.1", "::ffff:8.8.8.8", "2606:4700::1", "::1%lo", "x"):
        assert not egress.is_opened(ANYWHERE, address), address
    for address in ("1.1.1.1", "10.0.0.1", "fe80::1%eth0"):
        assert egress.is_opened("hooks.internal", address), address


def test_what_the_settings_accept_the_guard_understands() -> None:
    given = "127.0.0.0/8, ::1, 10.0.0.7, fd00::/8, hooks.internal, a_b.internal., localhost, *.svc"
    allow = PARSERS["egress_allow"].parse(given)

    assert isinstance(allow, tuple)
    assert Egress(allow).refusal("a_b.internal", "10.0.0.1") is None
    assert Egress(allow).refusal("shop.svc", "10.0.0.1") is None


def test_a_refusal_says_which_host_which_address_why_and_what_to_do() -> None:
    with pytest.raises(EgressRefused) as caught:
        Egress().check(ANYWHERE, "10.0.0.1")

    refused = caught.value
    assert (refused.host, refused.address) == (ANYWHERE, "10.0.0.1")
    assert isinstance(refused, OSError)
    for words in (ANYWHERE, "10.0.0.1", "private (10.0.0.0/8)", "EGRESS_ALLOW"):
        assert words in str(refused)


@given(st.ip_addresses(v=4))
def test_no_ipv4_address_that_is_not_global_is_reached(address: IPv4Address) -> None:
    if not address.is_global or address.is_multicast:
        assert Egress().refusal(ANYWHERE, str(address)) is not None


@given(st.ip_addresses(v=6, network="2000::/3"))
def test_no_ipv6_address_that_is_not_global_is_reached(address: IPv6Address) -> None:
    if not address.is_global and address.teredo is None:
        assert Egress().refusal(ANYWHERE, str(address)) is not None


@given(st.ip_addresses(v=4))
def test_an_address_is_judged_alike_however_it_is_carried(address: IPv4Address) -> None:
    bits = int(address)
    wrapped = [
        0xFFFF << 32 | bits,
        0xFFFF << 48 | bits,
        0x64FF9B << 96 | bits,
        0x64FF9B0001 << 80 | bits,
        0x2002 << 112 | bits << 80 | 1,
        0x20010000_08080808 << 64 | bits ^ 0xFFFFFFFF,
        0x26064700 << 96 | 0x02005EFE << 32 | bits,
    ]

    is_open = Egress().refusal(ANYWHERE, str(address)) is None
    for value in wrapped:
        carrier = str(IPv6Address(value))
        assert (Egress().refusal(ANYWHERE, carrier) is None) == is_open, carrier
