"""The SSRF guard: which addresses a delivery may reach.

A receiver's URL comes from a user, so it may point inwards: at this machine, at a cloud's metadata,
at a database behind the firewall. The guard looks at the address that will be connected to and
never at how it was written. An IPv6 address that carries an IPv4 one is as good as what it carries:

    2002:7f00:1::  --6to4-->  127.0.0.1  --table-->  loopback: refused

Owns: the table of special ranges and the unwrapping.
Never: looks a name up or opens a socket (see resolver and pool).
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from windlass.config.parsers import is_host_pattern, is_network

IpAddress = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# The first range that holds an address decides. None: nothing speaks against it, or, where the
# range carries IPv4 addresses, what it carries decides.
_SPECIAL: Final[tuple[tuple[Network, str | None], ...]] = tuple(
    (ip_network(network), words)
    for network, words in (
        ("169.254.169.254/32", "a cloud's metadata service"),
        ("100.100.100.200/32", "a cloud's metadata service"),
        ("168.63.129.16/32", "a cloud's platform service"),
        ("0.0.0.0/8", "unspecified: this very machine"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared behind a carrier's NAT"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved for protocols"),
        ("192.0.2.0/24", "for documentation"),
        ("192.88.99.0/24", "a former 6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "for benchmarking"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
        ("0.0.0.0/0", None),
        ("::/128", "unspecified: this very machine"),
        ("::1/128", "loopback"),
        ("::/96", None),  # IPv4-compatible
        ("::ffff:0:0/96", None),  # IPv4-mapped
        ("::ffff:0:0:0/96", None),  # IPv4-translated
        ("64:ff9b::/96", None),  # NAT64
        ("64:ff9b:1::/96", None),  # NAT64 of one's own
        # The rest of it may carry its IPv4 address at any of four offsets.
        ("64:ff9b:1::/48", "a NAT64 address of unknown layout"),
        ("fd00:ec2::254/128", "a cloud's metadata service"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
        ("100::/64", "discarded by every router"),
        ("5f00::/16", "for segment routing"),
        ("2001::/32", None),  # Teredo
        ("2001::/23", "reserved for protocols"),
        ("2001:db8::/32", "for documentation"),
        ("3fff::/20", "for documentation"),
        ("2000::/3", None),
        ("::/0", "reserved"),
    )
)
_LAST_32_BITS: Final = tuple(
    IPv6Network(network)
    for network in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/96")
)
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_SIX_TO_FOUR: Final = IPv6Network("2002::/16")
_TEREDO: Final = IPv6Network("2001::/32")
_ISATAP, _ISATAP_MASK = 0x0000_5EFE, 0xFDFF_FFFF  # the masked bit says: globally unique or not


class EgressRefused(OSError):
    """A delivery was about to connect where it may not. Nothing was sent."""

    def __init__(self, host: str, address: str, why: str) -> None:
        self.host, self.address, self.why = host, address, why
        super().__init__(
            errno.EACCES,
            f"{host} may not be reached: {why}; if it should be, add the address, its network or "
            "the host to WINDLASS_EGRESS_ALLOW",
        )

    def __str__(self) -> str:
        return str(self.strerror)


class Egress:
    """The guard, with the allow list of an operator.

    `allow` names CIDRs, addresses and hosts (`hooks.internal`, `*.internal`). An allowed IPv4
    network includes the IPv6 addresses that carry its addresses; an allowed host may be anywhere.
    """

    def __init__(self, allow: Sequence[str] = ()) -> None:
        entries = [_read_entry(text) for text in allow]
        self._networks = [entry for entry in entries if not isinstance(entry, str)]
        names = [entry for entry in entries if isinstance(entry, str)]
        self._hosts = frozenset(name for name in names if not name.startswith("."))
        self._suffixes = tuple(name for name in names if name.startswith("."))

    def refusal(self, host: str, address: str) -> str | None:
        """Why `address`, found for `host`, may not be reached; None: it may."""
        if self._is_named(host):
            return None
        try:
            found = ip_address(address)
        except ValueError:
            return f"{address!r} is not an address"
        if isinstance(found, IPv6Address) and found.scope_id is not None:
            return f"{address} has a zone, which names another network on every machine"
        if self._is_within(found):
            return None
        if trouble := _trouble(found):
            return f"{address} is {trouble}"
        for carried in _carried(found):
            if (trouble := _trouble(carried)) and not self._is_within(carried):
                return f"{address} carries {carried}, which is {trouble}"
        return None

    def is_opened(self, host: str, address: str) -> bool:
        """Whether it may be reached because an exception names it, and not for being public."""
        if self.refusal(host, address) is not None:
            return False
        if self._is_named(host):
            return True
        found = ip_address(address)
        return any(self._is_within(one) for one in (found, *_carried(found)))

    def check(self, host: str, address: str) -> None:
        """Raise EgressRefused unless `address`, found for `host`, may be reached."""
        if why := self.refusal(host, address):
            raise EgressRefused(host, address, why)

    def _is_named(self, host: str) -> bool:
        name = _plain(host)
        return name in self._hosts or name.endswith(self._suffixes)

    def _is_within(self, address: IpAddress) -> bool:
        return any(address in network for network in self._networks)


def _read_entry(text: str) -> Network | str:
    """A network, a host name, or a suffix that begins with its dot."""
    if is_network(text) or is_host_pattern(text):
        try:
            return _unmapped(ip_network(text))
        except ValueError:
            return _plain(text).removeprefix("*")
    raise ValueError(
        f"WINDLASS_EGRESS_ALLOW: {text!r} is not a CIDR like 10.0.0.0/8, an address, or a host "
        "like hooks.internal or *.internal"
    )


def _unmapped(network: Network) -> Network:
    """A mapped IPv4 address is called as what it is; see model.job.target."""
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        return IPv4Network((_ipv4(int(network.network_address)), network.prefixlen - 96))
    return network


def _plain(host: str) -> str:
    return host.lower().removesuffix(".")


def _trouble(address: IpAddress) -> str | None:
    """What the table says against an address as it stands."""
    network, words = next(row for row in _SPECIAL if address in row[0])
    return words and f"{words} ({network})"


def _carried(address: IpAddress) -> Iterator[IPv4Address]:
    """The IPv4 addresses that packets to an IPv6 address may be sent on to."""
    if isinstance(address, IPv4Address):
        return
    bits = int(address)
    if any(address in network for network in _LAST_32_BITS):
        yield _ipv4(bits)
    if bits >> 32 & _ISATAP_MASK == _ISATAP:  # below any prefix
        yield _ipv4(bits)
    if address in _SIX_TO_FOUR:
        yield _ipv4(bits >> 80)
    if address in _TEREDO:
        yield _ipv4(bits >> 64)  # its server
        yield _ipv4(~bits)  # its client, kept inverted


def _ipv4(bits: int) -> IPv4Address:
    return IPv4Address(bits & 0xFFFF_FFFF)
