"""The bytes of a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from windlass.strategies.http.net.address import Address

# These say their length even when it is nothing.
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})


def write_request(
    method: str, address: Address, headers: Mapping[str, str], body: bytes | None
) -> bytes:
    """Head and body in one piece. Raises ValueError for a header that would be two."""
    lines = [f"{method} {address.path} HTTP/1.1", f"host: {address.authority}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body or method in _WITH_BODY:
        lines.append(f"content-length: {len(body or b'')}")
    head = "\r\n".join(lines)
    # Everything was looked at before; this is where it would matter.
    if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1 or "\0" in head:
        raise ValueError("a header holds a line break")
    return head.encode() + b"\r\n\r\n" + (body or b"")
