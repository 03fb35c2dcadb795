"""The address of a delivery: the parts of a URL, read once."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from yarl import URL

from windlass.model.job.target import host_name


class Address(NamedTuple):
    is_secure: bool
    host: str  # its one name; see model.job.target
    port: int
    authority: str  # what the receiver is told it is called
    path: str  # with the query, percent-encoded


# A receiver is called again and again.
@lru_cache(maxsize=1_000)
def read_address(url: str) -> Address:
    """Raises ValueError."""
    found = URL(url)
    parts = urlsplit(url)
    if not parts.hostname or not found.port or found.scheme not in ("http", "https"):
        raise ValueError("it names no host to call")
    host, is_secure = host_name(parts.hostname), found.scheme == "https"
    shown = f"[{host}]" if ":" in host else host
    return Address(
        is_secure=is_secure,
        host=host,
        port=found.port,
        authority=shown if found.port == (443 if is_secure else 80) else f"{shown}:{found.port}",
        path=found.raw_path_qs or "/",
    )
