"""A TCP address given as text."""

from __future__ import annotations


def host_and_port(text: str) -> tuple[str, int]:
    """'127.0.0.1:5433' or '[::1]:5433' in two parts."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ValueError(f"{text!r} is not an address; write it as host:port")
    return host.strip("[]"), int(port)
