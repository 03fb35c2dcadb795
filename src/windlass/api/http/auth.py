"""Authentication by API key (bearer token): who may come in.

Promises: a revoked key is refused on every node within seconds (CACHE_SECONDS and ASK_SECONDS),
whatever becomes of Redis; at once on a node that is told (`forget`, by the signal `invalidate`).
Only hashes are kept, in memory as in the database.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from windlass import ids
from windlass.clock import monotonic
from windlass.errors import Unauthorized
from windlass.store.database import Database

CACHE_SECONDS: Final = 5.0
ASK_SECONDS: Final = 1.0
# Guesses may fill the cache, but only so far.
CACHED_MAX: Final = 10_000
_PREFIX: Final = b"bearer "
_TOKEN_CHARS: Final = 47  # wlk_ and 43 that hold 256 bits


class Keys:
    """Answers who the bearer of a token is."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # hash -> until when it may be believed (monotonic), and the owner; None: no such key
        self._known: dict[bytes, tuple[float, str | None]] = {}
        self._forgotten = 0  # how often; what was read before the last time is not kept

    def forget(self) -> None:
        """Keys have been revoked: whoever comes next is looked up."""
        self._forgotten += 1
        self._known.clear()

    async def owner(self, authorization: bytes | None) -> str:
        """The id of the key in the header. Raises Unauthorized."""
        if authorization is None:
            raise Unauthorized
        token = authorization[len(_PREFIX) :].strip()
        if authorization[: len(_PREFIX)].lower() != _PREFIX or len(token) != _TOKEN_CHARS:
            raise Unauthorized
        hashed = sha256(token).digest()
        known = self._known.get(hashed)
        now = monotonic()
        if known is None or known[0] < now:
            if known is not None:
                # One asks again; those who come meanwhile go by what was known.
                self._known[hashed] = (now + ASK_SECONDS, known[1])
            known = await self._look_up(hashed)
        if known[1] is None:
            raise Unauthorized("the key is not known here, or was revoked")
        return known[1]

    async def _look_up(self, hashed: bytes) -> tuple[float, str | None]:
        forgotten = self._forgotten
        rows = await self._database.read("api_key_find", hashed)
        if len(self._known) >= CACHED_MAX:
            self._known.clear()
        owner = ids.show("key", rows[0]["id"]) if rows else None
        known = (monotonic() + CACHE_SECONDS, owner)
        if forgotten == self._forgotten:
            self._known[hashed] = known
        return known
