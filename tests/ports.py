"""Ports for servers that must be told theirs before they start."""

from __future__ import annotations

import itertools
import os
import socket
from typing import Final

# Below those that the system hands out to whoever asks for any port: such a port could go to
# somebody else before its server takes it. Each process begins somewhere else.
_FIRST, _COUNT = 20_000, 12_000
_next: Final = itertools.count(os.getpid() * 397)


def free_port() -> int:
    """Nobody uses it now, and this process does not name it again."""
    while True:
        port = _FIRST + next(_next) % _COUNT
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def free_ports(count: int) -> list[int]:
    return [free_port() for _ in range(count)]
