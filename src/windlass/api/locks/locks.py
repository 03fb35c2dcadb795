"""/v1/locks: take a lock, renew it, give it back; who holds what, and who waits."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

from starlette.types import ASGIApp

from windlass.api.http import shapes as schemas
from windlass.api.http.caller import Caller, caller_of
from windlass.api.http.conditional import TAKES_BOTH, etag, precondition_of
from windlass.api.http.idempotency import HEADER, KEY_SCHEMA, REPLAYED
from windlass.api.http.noun import Noun
from windlass.api.http.paging import LOCKS, page_reply
from windlass.api.http.query import Param
from windlass.api.http.reply import LOCATION, created_reply, empty_reply, json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.locks import body as bodies
from windlass.api.locks.view import LOCK_NAME, holder_view, lock_view
from windlass.api.parts import ApiParts
from windlass.engine.effects import Effects
from windlass.engine.locks.acquire import LockCall, give_back, renew
from windlass.engine.locks.locks import Lock, list_locks, read_lock, resize_lock
from windlass.engine.locks.waiters import LockWaiters
from windlass.errors import InvalidInput, LockHeld
from windlass.limits import KEY_CHARS_MAX, LOCK_TTL_SECONDS, PAGE_DEFAULT
from windlass.model.job.lock import read_lock_name


class Locks:
    def __init__(self, parts: ApiParts) -> None:
        self._database = parts.database
        self._follow = parts.follower.follow
        self._waiters = LockWaiters(parts.database, parts.announcer, self._follow)

    async def index(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.get("limit", PAGE_DEFAULT)
        locks = await list_locks(self._database, limit, query.get("cursor", ""))
        cursor = LOCKS.show(locks[-1].name) if len(locks) == limit else None
        return page_reply([lock_view(lock) for lock in locks], cursor)

    async def get(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        return _shown(await read_lock(self._database, _name_of(request)))

    async def acquire(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name, caller = _name_of(request), caller_of(request.scope)
        given = await bodies.read_acquire(request)
        call = LockCall(
            name=name,
            ticket=_ticket(caller, name),
            ttl_seconds=given.get("ttl", LOCK_TTL_SECONDS),
            wait_seconds=given.get("wait", 0.0),
            capacity=given.get("capacity"),
            owner=caller.owner,
        )
        held = await self._waiters.take(call)
        if held is None:
            raise await self._refusal(name)
        answer = {
            "name": name,
            "token": held.token,
            "expires_at": held.expires_at,
            "capacity": held.capacity,
        }
        if held.is_replayed:
            return json_reply(answer, 200, REPLAYED)
        return created_reply(answer, f"/v1/locks/{quote(name, safe='')}")

    async def renew(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name = _name_of(request)
        given = await bodies.read_renew(request)
        token, ttl_seconds = given["token"], given.get("ttl", LOCK_TTL_SECONDS)
        until = await renew(self._database, name, token, ttl_seconds)
        self._follow(Effects(look_seconds=ttl_seconds))
        return json_reply({"name": name, "token": token, "expires_at": until})

    async def release(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        name = _name_of(request)
        if "token" not in query:
            raise InvalidInput.at("?token", "say which hold: the token that was answered with it")
        self._follow(await give_back(self._database, name, query["token"]))
        return empty_reply()

    async def resize(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name, wanted = _name_of(request), precondition_of(request)
        capacity = await bodies.read_resize(request)
        self._follow(await resize_lock(self._database, name, capacity, wanted))
        # As this call left it: another may have followed.
        return _shown(replace(await read_lock(self._database, name), capacity=capacity))

    async def _refusal(self, name: str) -> LockHeld:
        lock = await read_lock(self._database, name)
        return LockHeld(
            name=name,
            capacity=lock.capacity,
            waiting=lock.waiting,
            holders=[holder_view(holder) for holder in lock.holders],
        )


def _name_of(request: Call) -> str:
    try:
        return read_lock_name(request.path_params["name"])
    except ValueError as trouble:
        raise InvalidInput.at("{name}", str(trouble)) from None


def _shown(lock: Lock) -> ASGIApp:
    return json_reply(lock_view(lock), 200, etag(lock.etag))


def _ticket(caller: Caller, name: str) -> UUID:
    """Of the caller's Idempotency-Key: whoever repeats a call whose answer was lost gets the same
    hold, and does not wait for itself.
    """
    key = caller.text(HEADER, KEY_CHARS_MAX)
    if key is None:
        return uuid4()
    return UUID(bytes=sha256(f"{caller.owner}\n{name}\n{key}".encode()).digest()[:16])


def routes(parts: ApiParts) -> list[Route]:
    locks = Locks(parts)
    noun = Noun(word="lock", key="name", key_schema=LOCK_NAME)
    held = Answer(
        description="It is yours until then", schema=schemas.ref("LockHold"), headers=LOCATION
    )
    again = Answer(description="This Idempotency-Key holds it", schema=schemas.ref("LockHold"))
    renewed = schemas.record(name=schemas.TEXT, token=schemas.COUNT, expires_at=schemas.INSTANT)
    taken = Route(
        method="POST",
        path=noun.one,
        needs="locks:hold",
        handle=locks.acquire,
        summary="Take a lock, which is made if need be",
        description="With `wait` the answer comes when it is the caller's turn; 409 `lock_held` "
        "says who holds it. Renew it before `expires_at`. The token is larger than that of every "
        "hold before: let what the lock guards refuse smaller ones than it has seen.",
        tag=noun.tag,
        path_schemas=noun.its_key,
        headers={
            HEADER: (
                "The same key is answered with the same hold while that lasts",
                KEY_SCHEMA,
            )
        },
        body=bodies.ACQUIRE_SCHEMA,
        is_body_optional=True,
        answers={201: held, 200: again},
        problems=(400, 409, 413, 415),
    )
    kept = Route(
        method="PUT",
        path=noun.one,
        needs="locks:hold",
        handle=locks.renew,
        summary="Hold a lock for longer",
        description="409 `lock_lost`: the token holds it no longer, and somebody else may.",
        tag=noun.tag,
        path_schemas=noun.its_key,
        body=bodies.RENEW_SCHEMA,
        answers={200: Answer(description="It is yours until then", schema=renewed)},
        problems=(400, 409, 413, 415),
    )
    given_back = Route(
        method="DELETE",
        path=noun.one,
        needs="locks:hold",
        handle=locks.release,
        summary="Give a lock back",
        description="409 `lock_lost`: it was given back before, or its time was up; "
        "409 `lock_never_held`: nobody was given this token with this lock. Neither changes "
        "anything.",
        tag=noun.tag,
        path_schemas=noun.its_key,
        query=(
            Param(
                name="token",
                read=bodies.read_token,
                description="Of the hold that ends",
                is_required=True,
                schema=bodies.TOKEN_SCHEMA,
            ),
        ),
        answers={204: Answer(description="It was held by this token, and is no more")},
        problems=(409,),
    )
    resized = Route(
        method="PATCH",
        path=noun.one,
        needs="locks:edit",
        handle=locks.resize,
        summary="Set how many may hold a lock at once; it is made if need be",
        description="Whoever holds it keeps it, even if the capacity is smaller now.",
        tag=noun.tag,
        path_schemas=noun.its_key,
        headers=TAKES_BOTH,
        body=bodies.RESIZE_SCHEMA,
        answers=noun.shown,
        problems=(400, 412, 413, 415),
    )
    return [
        noun.index(locks.index, "List locks by name", LOCKS),
        noun.get(locks.get, "Read a lock: who holds it, who waits for it"),
        taken,
        kept,
        given_back,
        resized,
    ]
