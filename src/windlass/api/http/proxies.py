"""Trusted proxies: whose word about the caller is taken (X-Forwarded-For, X-Forwarded-Proto).

    peer 10.0.0.5 (trusted)   X-Forwarded-For: 198.51.100.7, 203.0.113.9, 10.0.0.4
                                                              ^ the caller
A proxy adds the address that it was called from at the right end. So one looks from there: what a
trusted proxy has added is true, and the first address that is no trusted proxy is the caller's. All
to the left of it may be an invention.

Promises: from a peer that is not trusted these headers mean nothing. What is no address ends the
look, and the address before it is believed; no more than FORWARDED_HOPS_MAX are looked at.
Never: heeds `Forwarded` (a proxy that speaks of X-Forwarded-For passes a caller's own `Forwarded`
on), X-Forwarded-Host, or the PROXY protocol.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from windlass.limits import FORWARDED_HOPS_MAX

_KNOWN_MAX: Final = 4_096
_ADDRESS_CHARS_MAX: Final = 64
_FOR: Final = b"x-forwarded-for"
_PROTO: Final = b"x-forwarded-proto"


class TrustedProxies:
    """The networks of the setting `trusted_proxies`."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks = tuple(ip_network(network) for network in networks)
        self._is_inside = lru_cache(_KNOWN_MAX)(self._judge)

    def __contains__(self, address: str) -> bool:
        return bool(self._networks) and self._is_inside(address)

    def _judge(self, text: str) -> bool:
        address = _read(text)
        return address is not None and any(address in network for network in self._networks)

    def caller(self, peer: str, lines: Iterable[tuple[bytes, bytes]]) -> str:
        """The caller's address, of a request that a trusted `peer` has handed on."""
        said = b",".join(value for name, value in lines if name == _FOR)
        known = peer
        for entry in reversed(said.rsplit(b",", FORWARDED_HOPS_MAX)[-FORWARDED_HOPS_MAX:]):
            address = _read(entry.decode("latin-1"))
            if address is None:
                break
            known = str(address)
            if known not in self:
                break
        return known


def is_https(lines: Iterable[tuple[bytes, bytes]]) -> bool | None:
    """How the proxy was called, in its own words; None: it does not say. Of several values the one
    that was added last counts.
    """
    said = [value for name, value in lines if name == _PROTO]
    if not said:
        return None
    return said[-1].rpartition(b",")[2].strip().lower() == b"https"


def _read(text: str) -> IPv4Address | IPv6Address | None:
    """An address, perhaps with a port, as proxies write it; None: it is none."""
    text = text.strip(" \t")
    if not 0 < len(text) <= _ADDRESS_CHARS_MAX or "%" in text:
        return None
    if text.startswith("["):
        text, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not _is_port(rest)):
            return None
    elif text.count(":") == 1:
        text, colon, rest = text.partition(":")
        if not _is_port(colon + rest):
            return None
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _is_port(text: str) -> bool:
    digits = text[1:]
    return text[0] == ":" and digits.isascii() and digits.isdecimal() and len(digits) <= 5
