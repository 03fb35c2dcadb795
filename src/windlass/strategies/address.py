"""Where a delivery goes: the parts of a URL, read once."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from yarl import URL

from windlass.config.rules import is_address


class Address(NamedTuple):
    is_secure: bool
    host: str  # as the network knows it: in lower case, IDNA, an IPv6 address without brackets
    port: int
    authority: str  # what the receiver is told it is called
    path: str  # with the query, percent-encoded


# A receiver is called again and again.
@lru_cache(maxsize=1_000)
def read_address(url: str) -> Address:
    """Raises ValueError."""
    found = URL(url)
    if found.raw_host is None or found.port is None or found.scheme not in ("http", "https"):
        raise ValueError("it names no host to call")
    if found.raw_host.replace(".", "").isdigit() and not is_address(found.raw_host):
        # Some read 0177.1 as 127.0.0.1, others as 177.0.0.1, and others as a name.
        raise ValueError("its host has only digits, but is no address like 192.0.2.1")
    return Address(
        is_secure=found.scheme == "https",
        host=found.raw_host,
        port=found.port,
        authority=found.raw_authority.rpartition("@")[2],
        path=found.raw_path_qs or "/",
    )
