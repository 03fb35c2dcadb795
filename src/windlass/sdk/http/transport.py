"""The way to a server: one request, one answer.

HttpTransport goes over the network; a node's own App goes the short way inside its process. Whoever
builds on a transport knows neither.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final, Protocol

IDEMPOTENCY_KEY: Final = "Idempotency-Key"
IF_MATCH: Final = "If-Match"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    path: str  # with its query, quoted
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    timeout_seconds: float  # for all of the answer; of a stream: for the next piece of it

    @property
    def is_once(self) -> bool:
        """True: made again after its answer got lost, it may find its own traces and be refused.
        Its caller decides.
        """
        return self.method == "PATCH" or IF_MATCH in self.headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """Any answer, success or not."""

    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes


class Transport(Protocol):
    """May be called from any event loop and keeps what belongs to each apart."""

    async def send(self, request: Request) -> Response:
        """The answer. Raises Unreachable when there is none; whether the server did what was asked
        is then unknown.
        """
        ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The lines of the body as they come, without their ends. Raises Unreachable, and what
        `problems.error_of` makes of an answer other than 200.
        """
        ...

    async def close(self) -> None:
        """Let go of what is open; what is asked afterwards opens it again."""
        ...


def address_of(transport: Transport) -> str:
    """Where it leads, for people to read: without what signs in there."""
    return str(getattr(transport, "url", "in this process"))
