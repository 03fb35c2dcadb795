"""`Idempotency-Key`: the same key and the same request get the same answer; work is made once.

Every POST takes one. Where jobs, executions, schedules, signals or holds are made, the key is
written with them, in one transaction. The other verbs keep their answer as it was sent
(`idempotent`): the key is taken before the verb is performed, so that a repetition never performs
it again; a request that is refused gives its key back. So does one that failed, unless doing it
again would matter and it may have been done.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

import msgspec
import structlog
from starlette.types import ASGIApp

from windlass.api.http.body import read_bytes
from windlass.api.http.caller import Caller, caller_of
from windlass.api.http.reply import Header, Reply
from windlass.api.http.route import Answer, Call, Route, Schema
from windlass.engine.idempotency import forget_answer, keep_answer, kept_answer, take_answer
from windlass.engine.jobs.request import Accepted, Idempotency
from windlass.errors import Conflict, Unavailable, WindlassError
from windlass.limits import KEY_CHARS_MAX
from windlass.store.database import Database, Demoted, RowLocked

log = structlog.get_logger()

HEADER: Final = "Idempotency-Key"
_NAME: Final = HEADER.lower().encode()
KEY_SCHEMA: Final[Schema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": KEY_CHARS_MAX,
    "pattern": "^[!-~]([ -~]*[!-~])?$",
}
REPLAYED_HEADER: Final = {"Idempotent-Replayed": "`true` when this key was answered before"}
_PROMISE: Final = (
    "The same key with the same request is answered with the first answer, and nothing is done "
    "again; with another request it is refused (422). Keys are kept for a day."
)
REPLAYED: Final[Header] = (b"idempotent-replayed", b"true")
_EXISTING: Final[Header] = (b"windlass-existing", b"true")


def idempotency_of(caller: Caller, method: str, path: str, body: bytes) -> Idempotency | None:
    """The caller's promise; None when it made none."""
    if _NAME not in caller.headers:
        return None
    request = KeyedRequest(caller, method, path)
    request.add(body)
    return request.idempotency


class KeyedRequest:
    """The same for a body that comes in pieces: the key, and the hash of what came so far."""

    def __init__(self, caller: Caller, method: str, path: str) -> None:
        self._owner, self._key = caller.owner, caller.text(HEADER, KEY_CHARS_MAX)
        self._hashed = sha256(f"{method} {path}\n".encode()) if self._key is not None else None

    def add(self, piece: bytes) -> None:
        if self._hashed is not None:
            self._hashed.update(piece)

    @property
    def idempotency(self) -> Idempotency | None:
        if self._key is None or self._hashed is None:
            return None
        return Idempotency(owner=self._owner, key=self._key, body_hash=self._hashed.digest())


def replay_headers(accepted: Accepted) -> list[Header]:
    """What the answer says beside the job: that it was answered before, or was there before."""
    headers = [REPLAYED] if accepted.is_replayed else []
    return [*headers, _EXISTING] if accepted.existing else headers


class ShownOnce(Conflict):
    """This Idempotency-Key was answered with a secret, which is shown once and kept nowhere."""

    code = "shown_once"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"Idempotency-Key {key!r} was answered before, with a secret that is shown once and "
            "kept nowhere; if that answer was lost, revoke what it made and make another"
        )


class _Kept(msgspec.Struct, array_like=True):
    """An answer as it was sent."""

    status: int
    headers: list[Header]
    body: bytes


def idempotent(route: Route, database: Database) -> Route:
    """A POST as it is served: with an Idempotency-Key, unless it has one in its own way."""
    if route.method != "POST" or HEADER in route.headers:
        return route
    if route.is_open and not route.takes_token:
        return route  # a stranger's keys are nobody's: each login is one

    async def handle(request: Call, query: dict[str, Any]) -> ASGIApp:
        caller = caller_of(request.scope)
        if _NAME not in caller.headers:
            return await route.handle(request, query)
        body = await read_bytes(request)
        path = request.scope["path"]
        shown = caller.headers.get(b"authorization", b"") + b"\n" if route.takes_token else b""
        mark = idempotency_of(caller, route.method, path, shown + body)
        assert mark is not None, "the header is there"
        if route.takes_token:
            # Nobody vouches for this caller: its keys are those of what it calls, no one else's,
            # and the answer is for whoever shows the same token, in the head or in the body.
            mark = replace(mark, owner=path)

        async def do() -> ASGIApp:
            return await route.handle(_again(request, body), query)

        if route.takes_token:
            return await _recalled(database, mark, do)
        return await _taken(
            database, mark, do, matters_twice=route.matters_twice, is_kept=not route.shows_secret
        )

    return replace(
        route,
        handle=handle,
        headers={**route.headers, HEADER: (_PROMISE, KEY_SCHEMA)},
        answers={code: _told(code, answer) for code, answer in route.answers.items()},
        problems=sorted({*route.problems, 409, 413}),
    )


async def _taken(
    database: Database,
    mark: Idempotency,
    do: Callable[[], Awaitable[ASGIApp]],
    *,
    matters_twice: bool,
    is_kept: bool,  # False: the answer holds what is shown once
) -> ASGIApp:
    kept = await take_answer(database, mark)
    if kept is not None:
        if not is_kept:
            raise ShownOnce(mark.key)
        return _replayed(kept)
    try:
        reply = await do()
    except Exception as trouble:
        if not matters_twice or _changed_nothing(trouble):
            with contextlib.suppress(Unavailable):
                await forget_answer(database, mark)
        raise
    await _keep(database, mark, reply if is_kept else Reply(b"", 200, ()))
    return reply


def _changed_nothing(trouble: Exception) -> bool:
    """Whether it is certain. Most verbs read what they answer after their commit, and a connection
    that breaks then, or during it, tells nothing of what was done.
    """
    if isinstance(trouble, RowLocked | Demoted):
        return True
    return isinstance(trouble, WindlassError) and trouble.status < 500


async def _recalled(
    database: Database, mark: Idempotency, do: Callable[[], Awaitable[ASGIApp]]
) -> ASGIApp:
    """For those who show a token: what it is good for is not known before it is done, and until
    then nothing of theirs is written.
    """
    kept = await kept_answer(database, mark)
    if kept is not None:
        return _replayed(kept)
    reply = await do()
    await _keep(database, mark, reply)
    return reply


async def _keep(database: Database, mark: Idempotency, reply: ASGIApp) -> None:
    """What was done is told, even if it cannot be kept: whoever asks again hears that it is not
    known, and nothing is done twice.
    """
    try:
        await keep_answer(database, mark, _packed(reply))
    except Unavailable as trouble:
        log.warning("answer_not_kept", key=mark.key, reason=str(trouble))


def _again(request: Call, body: bytes) -> Call:
    """The request, with its body still to be read."""

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    return Call(request.scope, receive, request.send)


def _packed(reply: ASGIApp) -> bytes:
    assert isinstance(reply, Reply), "a verb answers at once"
    return msgspec.msgpack.encode(
        _Kept(status=reply.status, headers=reply.headers, body=reply.body)
    )


def _replayed(kept: bytes) -> Reply:
    answer = msgspec.msgpack.decode(kept, type=_Kept)
    reply = Reply(status=200 if answer.status == 201 else answer.status)
    reply.body, reply.headers = answer.body, [*answer.headers, REPLAYED]
    return reply


def _told(code: int, answer: Answer) -> Answer:
    return replace(answer, headers={**answer.headers, **REPLAYED_HEADER}) if code < 300 else answer
