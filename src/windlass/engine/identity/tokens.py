"""Tokens of keys and sessions: who shows this one, and is it still good? From memory mostly.

    memory, for a second -> of a session: Redis, for some seconds -> PostgreSQL

Promises: a token that was revoked is refused within two seconds on every node, by TOKEN_BELIEVED
and TOKEN_ASK_SECONDS, counted from when it was asked for, and at once on nodes that are told. With
Redis the revocation stands there as a mark, which no older copy can overwrite. Whatever becomes of
the marks (a flush, a node that cannot reach Redis, a backup that brings old copies back), a copy is
believed for TOKEN_COPY_SECONDS from when PostgreSQL said so, by PostgreSQL's clock. It is signed
with a key that PostgreSQL has: whoever can write to Redis makes no session of his own, and keeps
none alive.
What was used is written down every TOKEN_TOUCH_SECONDS, all of it at once.
Only hashes are kept, in memory as in the database. Strangers who guess take turns, a few at a time,
and keep nobody waiting who was let in before.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final
from uuid import UUID

import msgspec
import structlog

from windlass import ids
from windlass.clock import monotonic
from windlass.engine.announce import Announcer
from windlass.engine.identity.keys import SESSION_PREFIX, hash_of, quota_in, scope_of
from windlass.errors import Unauthorized, Unavailable
from windlass.fastlane import keys
from windlass.fastlane.lane import FastLane, LaneDown
from windlass.fastlane.shared_cache import CacheSnapshot, SharedCache
from windlass.limits import (
    SESSION_IDLE_SECONDS,
    TOKEN_ASK_SECONDS,
    TOKEN_BELIEVED_SECONDS,
    TOKEN_COPY_SECONDS,
    TOKEN_LOOKUPS_AT_ONCE,
    TOKEN_SEEN_SECONDS,
    TOKEN_TOUCH_MAX,
    TOKEN_TOUCH_SECONDS,
    TOKENS_KEPT_MAX,
    TOKENS_UNKNOWN_MAX,
)
from windlass.lru import Lru
from windlass.model.identity.principal import Principal
from windlass.model.identity.quota import NO_QUOTA, Quota, quotas_of, stored_quota
from windlass.model.identity.rights import ROLES, Role, has_role, rights_of
from windlass.store.database import Database, Record
from windlass.supervise import supervisor

log = structlog.get_logger()

TOKEN_CHARS: Final = 47  # a prefix of 4, and 43 that hold 256 bits
_SIGNED_BYTES: Final = 16
_MARK_AGAIN_SECONDS: Final = 0.2
_NO_SNAPSHOT: Final[dict[str, CacheSnapshot]] = {}


@dataclass(slots=True, kw_only=True)
class _Known:
    principal: Principal
    asked_at: float  # by the monotonic clock
    forgotten: int  # how often everything had been forgotten by then
    is_asked_again: bool = False


class _Copy(msgspec.Struct, array_like=True):
    """A session as it lies in Redis."""

    id: UUID
    user_id: UUID
    name: str
    role: Role
    must_change_password: bool
    expires_at: float
    read_at: float  # by the clock of PostgreSQL
    quota: dict[str, float] | None = None  # as it is kept; None: of its own it has none


def shared_sessions(lane: FastLane, scope: bytes) -> SharedCache:
    """Copies of sessions in Redis, by the hashes of their tokens in hexadecimal."""
    return SharedCache(
        *(lane, "session", SESSION_IDLE_SECONDS, scope),
        prefix=keys.SESSION,
        mark_seconds=SESSION_IDLE_SECONDS,
    )


class Tokens:
    def __init__(
        self,
        database: Database,
        lane: FastLane,
        announcer: Announcer,
        scope: bytes,
        quota_defaults: Quota = NO_QUOTA,
    ) -> None:
        self._database = database
        self._quota_defaults = quota_defaults
        self._announcer = announcer
        self._shared = shared_sessions(lane, scope)
        self._signing: bytes | None = None  # None: not read yet
        self._ahead = 0.0  # of our monotonic clock is PostgreSQL's, at most
        self._known: Lru[bytes, _Known] = Lru(entries_max=TOKENS_KEPT_MAX)
        self._unknown: Lru[bytes, bool] = Lru(
            entries_max=TOKENS_UNKNOWN_MAX, believed_seconds=TOKEN_BELIEVED_SECONDS
        )
        self._flights: dict[bytes, asyncio.Task[Principal | None]] = {}
        self._flying: set[asyncio.Task[Principal | None]] = set()  # also those that nobody joins
        self._room = asyncio.Semaphore(TOKEN_LOOKUPS_AT_ONCE)
        self._forgotten = 0  # how often; what was read before the last time is not kept
        self._used: dict[bytes, Principal] = {}  # by the hash of the token
        self._touching: asyncio.Task[None] | None = None  # None: nobody has come in yet
        self._marking: asyncio.Task[None] | None = None  # None: no mark was ever refused
        announcer.on_key(lambda _: self.forget())

    async def principal(self, token: bytes) -> Principal:
        """Who shows it. Raises Unauthorized."""
        hashed = hash_of(token)
        known, now = self._known.get(hashed), monotonic()
        if known is not None and self._is_believed(known, now):
            principal: Principal | None = known.principal
        elif self._unknown.get(hashed):
            principal = None
        else:
            if known is not None:
                known.is_asked_again = True
            principal = await self._flight(hashed, token, is_known=known is not None)
        if principal is None:
            raise Unauthorized
        if principal.credential_id is not None:
            self._used[hashed] = principal
            if self._touching is None:
                self._touching = supervisor().keep("tokens used", self._touch_loop)
        return principal

    def _is_believed(self, known: _Known, now: float) -> bool:
        """One asks again; those who come meanwhile go by what was known, for a moment."""
        if known.forgotten != self._forgotten:
            return False
        age = now - known.asked_at
        return age < TOKEN_BELIEVED_SECONDS or (
            known.is_asked_again and age < TOKEN_BELIEVED_SECONDS + TOKEN_ASK_SECONDS
        )

    def forget(self) -> None:
        """Something was revoked: whoever comes next is looked up. Those who were let in before
        need not queue for that among strangers.
        """
        self._forgotten += 1
        self._unknown.clear()
        self._flights.clear()

    async def revoked(self, sessions: Iterable[bytes] = ()) -> None:
        """Something was revoked, or another quota given, of sessions the hashes of their tokens: no
        node believes what it knew.
        """
        self.forget()
        await self._mark(sessions)
        self.forget()  # whoever came in between may have read the copy that was there
        self._announcer.tokens()

    async def _mark(self, sessions: Iterable[bytes]) -> None:
        try:
            await self._shared.mark([hashed.hex() for hashed in sessions])
        except LaneDown:
            if self._marking is None or self._marking.done():
                self._marking = supervisor().spawn(self._mark_later(), name="marks of sessions")

    async def _mark_later(self) -> None:
        """Redis did not take the marks that are owed. If it was for a moment, nodes are told again;
        else they find out in PostgreSQL meanwhile.
        """
        give_up_at = monotonic() + TOKEN_COPY_SECONDS
        while monotonic() < give_up_at:
            await asyncio.sleep(_MARK_AGAIN_SECONDS)
            with contextlib.suppress(LaneDown):
                await self._shared.settle()
                self.forget()
                self._announcer.tokens()
                return

    async def close(self) -> None:
        tasks = [*self._flying, *(t for t in (self._touching, self._marking) if t is not None)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._shared.close()

    async def _flight(self, hashed: bytes, token: bytes, *, is_known: bool) -> Principal | None:
        flight = self._flights.get(hashed)
        if flight is None:
            looking = self._look_up(hashed, token, is_known=is_known)
            flight = asyncio.create_task(looking, name="token")
            self._flights[hashed] = flight
            self._flying.add(flight)
            flight.add_done_callback(lambda done: self._landed(hashed, done))
        return await asyncio.shield(flight)

    def _landed(self, hashed: bytes, flight: asyncio.Task[Principal | None]) -> None:
        self._flying.discard(flight)
        if self._flights.get(hashed) is flight:
            del self._flights[hashed]
        if not flight.cancelled():
            flight.exception()  # whoever waits has it

    async def _look_up(self, hashed: bytes, token: bytes, *, is_known: bool) -> Principal | None:
        forgotten = self._forgotten
        async with contextlib.nullcontext() if is_known else self._room:
            asked_at = monotonic()  # whatever we are told is as of then, however late we hear it
            if token.startswith(SESSION_PREFIX.encode()):
                principal = await self._session(hashed)
            else:
                rows = await self._database.read("key_find", hashed)
                principal = _of_key(rows[0], self._quota_defaults) if rows else None
        if forgotten == self._forgotten:
            if principal is None:
                self._known.drop((hashed,))
                self._unknown.put(hashed, True)
            else:
                known = _Known(principal=principal, asked_at=asked_at, forgotten=forgotten)
                self._known.put(hashed, known)
        return principal

    async def _session(self, hashed: bytes) -> Principal | None:
        text, seen = hashed.hex(), _NO_SNAPSHOT
        signing = await self._signing_key()
        with contextlib.suppress(LaneDown):
            seen = await self._shared.look([text])
            payload = seen[text].payload
            if payload is not None and (copy := _read_copy(payload, hashed, signing)) is not None:
                now = monotonic() + self._ahead
                if abs(now - copy.read_at) < TOKEN_COPY_SECONDS and now < copy.expires_at:
                    return _of_session(copy, self._quota_defaults)
        asked_at = monotonic()
        rows = await self._database.read("session_find", hashed, float(SESSION_IDLE_SECONDS))
        if not rows:
            return None
        copy = _copy_of(rows[0])
        self._ahead = copy.read_at - asked_at
        if seen:
            with contextlib.suppress(LaneDown):
                await self._shared.put({text: _write_copy(copy, hashed, signing)}, seen)
        return _of_session(copy, self._quota_defaults)

    async def _signing_key(self) -> bytes:
        if self._signing is None:
            asked_at = monotonic()
            rows = await self._database.read("session_key")
            self._ahead = rows[0]["read_at"].timestamp() - asked_at
            self._signing = bytes(rows[0]["key"])
        return self._signing

    async def _touch_loop(self) -> None:
        while True:
            await asyncio.sleep(TOKEN_TOUCH_SECONDS)
            with contextlib.suppress(Unavailable):  # the next round has it too
                await self.touch()

    async def touch(self) -> None:
        """Write down what was used, and drop what is good no more."""
        used, self._used = list(self._used.items()), {}
        while used:
            some, used = dict(used[:TOKEN_TOUCH_MAX]), used[TOKEN_TOUCH_MAX:]
            try:
                ended = await self._touch(some)
            except Unavailable:
                self._used = {**some, **dict(used), **self._used}
                raise
            if ended:
                await self._drop(ended)

    async def _touch(self, used: dict[bytes, Principal]) -> list[bytes]:
        """The hashes of those that are good no more."""
        keys = {hashed: one.credential_id for hashed, one in used.items() if one.kind == "key"}
        sessions = [hashed for hashed in used if hashed not in keys]
        good: set[bytes] = set()
        if sessions:
            rows = await self._database.read(
                *("session_touch_many", sessions),
                *(TOKEN_SEEN_SECONDS, float(SESSION_IDLE_SECONDS)),
            )
            good |= {row["hash"] for row in rows}
        if keys:
            asked = list(set(keys.values()))
            rows = await self._database.read("key_touch_many", asked, TOKEN_SEEN_SECONDS)
            found = {row["id"] for row in rows}
            good |= {hashed for hashed, key_id in keys.items() if key_id in found}
        return [hashed for hashed in used if hashed not in good]

    async def _drop(self, ended: list[bytes]) -> None:
        self.forget()
        await self._mark(ended)
        self.forget()


def _of_key(row: Record, defaults: Quota) -> Principal:
    scope = scope_of(row)
    rights = (
        frozenset(scope.rights) if scope.rights is not None else rights_of(scope.role or ROLES[0])
    )
    role, users = scope.role, row["user_role"]
    if users is not None:
        rights &= rights_of(users)
        if role is not None and not has_role(users, role):
            role = users
    return Principal(
        kind="key",
        id=ids.show("key", row["id"]),
        name=row["name"],
        role=role,
        rights=rights,
        queues=scope.queues,
        workflows=scope.workflows,
        user_id=row["user_id"],
        credential_id=row["id"],
        expires_at=row["expires_at"],
        quotas=quotas_of(
            defaults,
            user_id=row["user_id"],
            user=quota_in(row["user_quota"]),
            key_id=row["id"],
            key=quota_in(row["quota"]),
        ),
    )


def _of_session(copy: _Copy, defaults: Quota) -> Principal:
    return Principal(
        kind="user",
        id=ids.show("user", copy.user_id),
        name=copy.name,
        role=copy.role,
        rights=rights_of(copy.role),
        user_id=copy.user_id,
        credential_id=copy.id,
        expires_at=datetime.fromtimestamp(copy.expires_at, UTC),
        must_change_password=copy.must_change_password,
        quotas=quotas_of(defaults, user_id=copy.user_id, user=stored_quota(copy.quota)),
    )


def _copy_of(row: Record) -> _Copy:
    return _Copy(
        id=row["id"],
        user_id=row["user_id"],
        name=row["name"],
        role=row["role"],
        must_change_password=row["must_change_password"],
        expires_at=row["expires_at"].timestamp(),
        read_at=row["read_at"].timestamp(),
        quota=quota_in(row["quota"]).given or None,
    )


def _write_copy(copy: _Copy, hashed: bytes, signing: bytes) -> bytes:
    body = msgspec.msgpack.encode(copy)
    return _sign(body, hashed, signing) + body


def _read_copy(payload: bytes, hashed: bytes, signing: bytes) -> _Copy | None:
    """None: it is none of ours."""
    body = payload[_SIGNED_BYTES:]
    if not hmac.compare_digest(payload[:_SIGNED_BYTES], _sign(body, hashed, signing)):
        return None
    try:
        return msgspec.msgpack.decode(body, type=_Copy)
    except msgspec.MsgspecError:  # of another release
        return None


def _sign(body: bytes, hashed: bytes, signing: bytes) -> bytes:
    return hmac.digest(signing, hashed + body, sha256)[:_SIGNED_BYTES]
