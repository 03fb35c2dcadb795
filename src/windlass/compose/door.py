"""The API's listening socket, and who answers there while the node is starting."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from windlass.errors import WindlassError

if TYPE_CHECKING:
    # Imports that a worker never needs.
    from windlass.api.http.serve import Serving


class PortBusy(WindlassError):
    """Another program has the port that this node was to serve."""

    code = "port_busy"


def listen(host: str, port: int) -> socket.socket:
    """The API's socket, bound before anything else starts: a busy port is said at once.

    From here on callers wait to be heard: let `open_door` follow.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # TCP by name: asyncio sets TCP_NODELAY only then, and without it each answer waits for the
    # caller's delayed acknowledgement of its head.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as trouble:
        listener.close()
        raise PortBusy(
            f"cannot listen on {host}:{port}: {trouble.strerror}; "
            "stop what uses it or choose another with --port"
        ) from trouble
    listener.listen(2048)
    listener.setblocking(False)
    return listener


def open_door(listener: socket.socket) -> Serving:
    """Answer there, that the node is starting."""
    from windlass.api.http.serve import Serving

    return Serving(listener)
