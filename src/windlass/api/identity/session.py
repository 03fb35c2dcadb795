"""/v1/session: who calls and what he may do; log in, log out, choose a password.

A browser gets its session as a cookie that no script can read, and a CSRF token to send along
(api.http.auth). A program that logs in asks for the token instead, and sends that like a key.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http.auth import (
    check_same_site,
    csrf_token,
    no_cookie,
    session_cookie,
    session_in,
)
from windlass.api.http.body import read_json, read_nothing
from windlass.api.http.caller import Caller, caller_of
from windlass.api.http.reply import Reply, empty_reply, json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import ref
from windlass.api.identity.schema import LOGIN, PASSWORD, read_flag, required_fields
from windlass.api.parts import ApiParts
from windlass.engine.identity.login import log_in
from windlass.engine.identity.quotas import read_left
from windlass.engine.identity.request_limits import RequestsLeft
from windlass.engine.identity.sessions import BegunSession, end_session
from windlass.engine.identity.users import choose_password
from windlass.errors import Conflict, InvalidInput, NotFound, Unauthorized, Unavailable
from windlass.limits import (
    IDENTITY_BODY_BYTES_MAX,
    PASSWORD_CHARS_MAX,
    SESSION_SECONDS_MAX,
    USER_NAME_CHARS_MAX,
)
from windlass.model.identity.account import read_password
from windlass.model.identity.principal import Principal
from windlass.model.identity.quota import SubjectQuota
from windlass.model.identity.rights import ANYBODY, NOBODY, RIGHTS, roles_with

_TAG: Final = "Identity"
_PATH: Final = "/v1/session"


class NoSession(Conflict):
    """The caller showed a key, or nothing at all: there is no session to end or to change."""

    code = "no_session"

    def __init__(self) -> None:
        super().__init__(
            "you have no session here: you came with a key, or authentication is off; log in with "
            "POST /v1/session"
        )


class AuthIsOff(Conflict):
    """Nobody logs in where everybody may come in."""

    code = "auth_is_off"

    def __init__(self) -> None:
        super().__init__("authentication is off here: everybody may do everything, without login")


class OwnSession:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts

    async def log_in(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        caller = caller_of(request.scope)
        check_same_site(caller)  # or a page of somebody else logs one in as somebody else
        given = required_fields(
            await read_json(request, IDENTITY_BODY_BYTES_MAX), _LOGIN, ("user", "password")
        )
        if self._parts.settings.auth == "off":
            raise AuthIsOff
        shown = session_in(caller)  # what is wrong with the cookies is said before anything is done
        login = await log_in(
            *(self._parts.database, self._parts.passwords),
            name=given["user"],
            password=given["password"],
            address=caller.address,
            device=caller.headers.get(b"user-agent", b"").decode("latin-1"),
            refusals=self._parts.refusals,
        )
        if ended := [*login.session.ended, *await self._ended(caller, shown)]:
            await self._parts.tokens.revoked(ended)
        principal = await self._parts.tokens.principal(login.session.token.encode())
        return self._begun(
            principal, login.session, 201, wants_token=given.get("wants_token", False)
        )

    async def _ended(self, caller: Caller, token: bytes | None) -> list[bytes]:
        """Whoever logs in where he is logged in has one session, not two."""
        if token is None:
            return []
        with contextlib.suppress(Unauthorized, NotFound, Unavailable):
            before = caller.principal = await self._parts.tokens.principal(token)
            return await end_session(self._parts.database, _session_id(before))
        return []

    async def get(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        caller = caller_of(request.scope)
        left = await self._left(caller)
        return json_reply({**self._view(caller.known, session_in(caller)), "quota": left})

    async def _left(self, caller: Caller) -> dict[str, Any]:
        """Of each of its quotas the one of which least is left: its own, or its user's."""
        quotas = caller.known.quotas
        used = await read_left(self._parts.database, quotas)
        return {
            "requests_per_second": _least(map(_requests_left, caller.requests_left)),
            "jobs_per_day": _least(_jobs_left(one, used.get(one.id)) for one in quotas),
            "bytes_waiting": _least(_bytes_left(one, used.get(one.id)) for one in quotas),
        }

    async def log_out(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        await read_nothing(request)
        principal = caller_of(request.scope).known
        ended = await end_session(self._parts.database, _session_id(principal))
        await self._parts.tokens.revoked(ended)
        return empty_reply(no_cookie())

    async def put_password(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        caller = caller_of(request.scope)
        principal = caller.known
        session_id = _session_id(principal)
        given = required_fields(
            await read_json(request, IDENTITY_BODY_BYTES_MAX), _PASSWORD, ("old", "new")
        )
        try:
            new = read_password(given["new"], principal.name)
        except ValueError as trouble:
            raise InvalidInput.at("/new", str(trouble)) from None
        assert principal.user_id is not None, "a session is somebody's"
        changed = await choose_password(
            *(self._parts.database, self._parts.passwords, principal.user_id),
            old=given["old"],
            new=new,
            session_id=session_id,
        )
        await self._parts.tokens.revoked(changed.ended)
        return await self.go_on(caller, changed.session)

    async def go_on(self, caller: Caller, session: BegunSession | None) -> Reply:
        """The caller's own session under another token; None: it has ended meanwhile."""
        if session is None:
            return empty_reply(no_cookie())
        principal = await self._parts.tokens.principal(session.token.encode())
        return self._begun(principal, session, 200, wants_token=session_in(caller) is None)

    def _begun(
        self, principal: Principal, session: BegunSession, status: int, *, wants_token: bool
    ) -> Reply:
        if wants_token:
            return json_reply({**self._view(principal, None), "token": session.token}, status)
        cookie = session_cookie(session.token, SESSION_SECONDS_MAX)
        return json_reply(self._view(principal, session.token.encode()), status, cookie)

    def _view(self, principal: Principal, cookie: bytes | None) -> dict[str, Any]:
        may = frozenset() if principal.must_change_password else principal.rights
        is_session = principal.kind == "user" and principal.credential_id is not None
        return {
            "kind": principal.kind,
            "id": principal.id,
            "name": principal.name,
            "role": principal.role,
            "rights": sorted(may),
            "lacks": [
                {"right": right, "roles": roles_with(right)} for right in RIGHTS if right not in may
            ],
            "queues": principal.queues,
            "workflows": principal.workflows,
            "user_id": ids.show("user", principal.user_id) if principal.user_id else None,
            "session_id": ids.show("session", principal.credential_id)
            if is_session and principal.credential_id
            else None,
            "expires_at": principal.expires_at,
            "must_change_password": principal.must_change_password,
            "csrf_token": csrf_token(cookie) if is_session and cookie is not None else None,
            "auth": self._parts.settings.auth,
            "token": None,
            "quota": None,
        }


def _least(found: Iterable[dict[str, Any] | None]) -> dict[str, Any] | None:
    """None: it has no such quota."""
    known = [one for one in found if one is not None]
    return min(known, key=lambda one: one["remaining"] or 0, default=None)


def _requests_left(one: RequestsLeft) -> dict[str, Any]:
    return {
        "subject": one.name,
        "limit": one.pace.per_second,
        "burst": one.pace.burst,
        "remaining": one.remaining,
        "reset": math.ceil(one.reset_seconds),
    }


def _jobs_left(one: SubjectQuota, used: Mapping[str, Any] | None) -> dict[str, Any] | None:
    limit = one.quota.jobs_per_day
    if limit is None:
        return None
    jobs = 0 if used is None else used["jobs"]
    return {
        "subject": one.name,
        "limit": limit,
        "current": jobs,
        "remaining": max(0, limit - jobs),
        "day_ends_at": None if used is None else used["day_ends_at"],
    }


def _bytes_left(one: SubjectQuota, used: Mapping[str, Any] | None) -> dict[str, Any] | None:
    limit = one.quota.bytes_waiting
    if limit is None:
        return None
    waiting = None if used is None else used["bytes"]
    return {
        "subject": one.name,
        "limit": limit,
        "current": waiting,
        "remaining": None if waiting is None else max(0, limit - waiting),
    }


def _session_id(principal: Principal) -> Any:
    if principal.kind != "user" or principal.credential_id is None:
        raise NoSession
    return principal.credential_id


def _text(chars_max: int) -> Any:
    """As it was typed: a login is compared, not judged."""

    def read(value: object) -> str:
        if not isinstance(value, str) or not 1 <= len(value) <= chars_max:
            raise ValueError(f"must be text of 1 to {chars_max} characters")
        if not _is_text(value):
            raise ValueError("holds U+0000 or half a character, as nobody's does")
        return value

    return read


def _is_text(value: str) -> bool:
    """Neither a name nor a password of anybody's holds NUL, or half of a character."""
    return "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)


def _name(value: object) -> str:
    return str(_text(USER_NAME_CHARS_MAX)(value)).lower()


_LOGIN: Final[Mapping[str, Any]] = {
    "user": _name,
    "password": _text(PASSWORD_CHARS_MAX),
    "wants_token": read_flag,
}
_PASSWORD: Final[Mapping[str, Any]] = {
    "old": _text(PASSWORD_CHARS_MAX),
    "new": _text(PASSWORD_CHARS_MAX),
}


def routes(parts: ApiParts) -> list[Route]:
    session = OwnSession(parts)
    shown = Answer(description="Who you are and what you may do", schema=ref("Caller"))
    return [
        Route(
            method="GET",
            path=_PATH,
            needs=ANYBODY,
            handle=session.get,
            summary="Ask who you are and what you may do",
            tag=_TAG,
            answers={200: shown},
        ),
        Route(
            method="POST",
            path=_PATH,
            needs=NOBODY,
            handle=session.log_in,
            summary="Log in",
            tag=_TAG,
            body=LOGIN,
            answers={
                201: Answer(
                    description="You are logged in",
                    schema=ref("Caller"),
                    headers={"Set-Cookie": "The session, unless `wants_token`"},
                )
            },
            problems=(400, 401, 403, 409, 413, 415, 429, 503),
        ),
        Route(
            method="DELETE",
            path=_PATH,
            needs=ANYBODY,
            handle=session.log_out,
            summary="Log out",
            tag=_TAG,
            answers={204: Answer(description="The session has ended")},
            problems=(404, 409),
        ),
        Route(
            method="PUT",
            path=f"{_PATH}/password",
            needs=ANYBODY,
            handle=session.put_password,
            summary="Choose another password",
            tag=_TAG,
            body=PASSWORD,
            answers={
                200: Answer(description="Your session, under another token", schema=ref("Caller")),
                204: Answer(description="Your session has ended meanwhile; log in again"),
            },
            problems=(400, 403, 409, 413, 415, 429, 503),
        ),
    ]
