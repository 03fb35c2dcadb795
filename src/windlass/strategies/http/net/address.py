"""The address of a delivery: the parts of a URL, read once.

A path and a query go out as RFC 3986 writes them, however they were typed: what may not stand there
is percent-encoded, what needs no escape loses it, and `.` and `..` are walked before anything is
sent. An escape that stands for a separator stays one: `%2F` is no slash.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

from windlass.model.job.target import host_name

_PORTS: Final = {"http": 80, "https": 443}
# An IPv6 address is all of the host: around the brackets of `a.example[::1]` some read another one.
_BRACKETED: Final = re.compile(r"\[[^\[\]]*:[^\[\]]*\](?::.*)?")
_ESCAPE: Final = "%[0-9A-Fa-f]{2}"
# What stands as it is in each. Of these, what separates is not the same as its escape.
_PLAIN: Final = r"A-Za-z0-9\-._~!$'()*,:@/"
_PATH_PART: Final = re.compile(rf"{_ESCAPE}|[^{_PLAIN}+&=;]")
_PATH_SEPARATORS: Final = "/+"
_QUERY_PART: Final = re.compile(rf"{_ESCAPE}|[^{_PLAIN}+&=;?]")
_QUERY_SEPARATORS: Final = "=+&;"


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
    parts = urlsplit(url)
    port = _PORTS.get(parts.scheme, 0) if parts.port is None else parts.port
    if not parts.hostname or not port or parts.scheme not in _PORTS:
        raise ValueError("it names no host to call")
    if "@" in parts.netloc:
        raise ValueError("it holds a user name or password")
    if "[" in parts.netloc and not _BRACKETED.fullmatch(parts.netloc):
        raise ValueError("its host is no IPv6 address like [2001:db8::1]")
    host = host_name(parts.hostname)
    shown = f"[{host}]" if ":" in host else host
    return Address(
        is_secure=parts.scheme == "https",
        host=host,
        port=port,
        authority=shown if port == _PORTS[parts.scheme] else f"{shown}:{port}",
        path=_path(parts.path) + (f"?{_query(parts.query)}" if parts.query else ""),
    )


def _path(text: str) -> str:
    path = _PATH_PART.sub(lambda part: _written(part[0], _PATH_PART, _PATH_SEPARATORS), text)
    return _walked(path) if "." in path else path or "/"


def _query(text: str) -> str:
    text = text.replace(" ", "+")
    return _QUERY_PART.sub(lambda part: _written(part[0], _QUERY_PART, _QUERY_SEPARATORS), text)


def _written(part: str, escaped: re.Pattern[str], separators: str) -> str:
    """A character that may not stand there, or an escape."""
    if len(part) == 1:
        return quote(part, safe="")
    char = chr(int(part[1:], 16))
    return part.upper() if char in separators or escaped.fullmatch(char) else char


def _walked(path: str) -> str:
    """Without `.` and `..` (RFC 3986 §5.2.4); nothing lies above the root."""
    kept: list[str] = []
    steps = path.split("/")[1:]
    for step in steps:
        if step == "..":
            del kept[-1:]
        elif step != ".":
            kept.append(step)
    if steps[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)
