"""The caller of a request: its headers, request id and trace. Made once, at the door."""

from __future__ import annotations

import re
from typing import Any, Final

from windlass.api.http.body_budget import BodyBudget, BodyShare
from windlass.chance import random_bits
from windlass.engine.identity.request_limits import RequestsLeft
from windlass.errors import InvalidInput
from windlass.model.identity.principal import Principal
from windlass.model.trace_context import read_traceparent

_SCOPE_KEY: Final = "windlass.caller"
# Who calls from within this process, as its own name. Only code of this process can put something
# into a scope: what comes over the network arrives as headers (see sdk.http.in_process).
INSIDE: Final = "windlass.inside"
_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._:\-]{1,128}")
_PRINTABLE: Final = re.compile(rb"[!-~]([ -~]*[!-~])?")


def random_hex() -> str:
    """32 digits to tell requests and traces apart; no secret, so no system call."""
    return f"{random_bits(128):032x}"


class Caller:
    __slots__ = (
        "_holding",
        "address",
        "headers",
        "is_secure",
        "own_origin",
        "principal",
        "request_id",
        "requests_left",
        "room",
    )

    def __init__(
        self, headers: dict[bytes, bytes], address: str, *, is_secure: bool = False
    ) -> None:
        self.headers = headers
        self.address = address  # whose connection it is, or who a trusted proxy says it is
        self.is_secure = is_secure  # True: it came over TLS, to us or to a trusted proxy
        # Where browsers reach us, by the setting public_url; None: wherever Host says.
        self.own_origin: bytes | None = None
        self.principal: Principal | None = None  # None: nobody asked who it is
        self.requests_left: list[RequestsLeft] = []  # of each of its quotas of requests
        self.room: BodyBudget | None = None  # for a large body; None: as much as one likes
        self._holding: BodyShare | None = None  # None: its body is small, or has not come
        given = headers.get(b"x-request-id")
        self.request_id = (
            given.decode() if given is not None and _REQUEST_ID.fullmatch(given) else random_hex()
        )

    @property
    def owner(self) -> str:
        """Under whose name its Idempotency-Keys are."""
        return "anonymous" if self.principal is None else self.principal.id

    @property
    def known(self) -> Principal:
        """Who calls a route that not everybody may call."""
        assert self.principal is not None, "the door has let somebody in unseen"
        return self.principal

    async def take_room(self, size: int) -> None:
        """For `size` bytes in all. Raises BodiesFull."""
        if self.room is not None:
            if self._holding is None:
                self._holding = self.room.holding()
            await self._holding.grow(size)

    def give_room(self) -> int:
        """How much it had."""
        if self._holding is None:
            return 0
        size = self._holding.size
        self._holding.end()
        self._holding = None
        return size

    def trace_id(self) -> str:
        """The trace that the caller is in and its span there (see model.trace_context), or a new
        trace.
        """
        given = self.headers.get(b"traceparent")
        kept = read_traceparent(given.decode("latin-1")) if given is not None else None
        return kept or random_hex()

    def text(self, header: str, chars_max: int) -> str | None:
        """A header as text; None when it was not sent. Raises InvalidInput for what is no text."""
        raw = self.headers.get(header.lower().encode())
        if raw is None:
            return None
        if not _PRINTABLE.fullmatch(raw) or len(raw) > chars_max:
            raise InvalidInput.at(header, f"must be 1 to {chars_max} printable ASCII characters")
        return raw.decode()


def enter(scope: Any) -> Caller:
    """Note the caller of this request in its scope."""
    peer = scope.get("client")
    is_secure = scope.get("scheme") == "https"
    caller = Caller(dict(scope["headers"]), peer[0] if peer else "", is_secure=is_secure)
    scope[_SCOPE_KEY] = caller
    return caller


def caller_of(scope: Any) -> Caller:
    found: Caller | None = scope.get(_SCOPE_KEY)
    return found if found is not None else enter(scope)
