"""/v1/sessions: where one is logged in, with device and address; end one of them, or all.

One's own; who may edit users sees and ends those of everybody.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http.body import read_nothing
from windlass.api.http.caller import caller_of
from windlass.api.http.noun import Noun
from windlass.api.http.paging import SESSIONS, page_reply
from windlass.api.http.query import Param, id_schema, limit_param
from windlass.api.http.reply import empty_reply, json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import page_of, ref
from windlass.api.identity.schema import USER_REF
from windlass.api.identity.session import NoSession
from windlass.api.identity.users import is_self, which_user
from windlass.api.parts import ApiParts
from windlass.engine.identity.sessions import Session, end_session, end_sessions, list_sessions
from windlass.engine.identity.users import read_user
from windlass.errors import InvalidInput
from windlass.limits import PAGE_DEFAULT
from windlass.model.identity.account import EVERYBODY
from windlass.model.identity.principal import MissingRight, Principal

NOUN: Final = Noun(word="session", key="session_id", key_schema=id_schema("session"))


class Sessions:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database

    async def index(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        principal = caller_of(request.scope).known
        user_id = await self._whose(principal, query.get("user"))
        limit = query.get("limit", PAGE_DEFAULT)
        before = {"before": query["cursor"]} if "cursor" in query else {}
        sessions = await list_sessions(self._database, user_id, limit, **before)
        cursor = SESSIONS.show(sessions[-1].id.hex) if len(sessions) == limit else None
        return page_reply([session_view(one, principal) for one in sessions], cursor)

    async def delete(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        await read_nothing(request)
        principal = caller_of(request.scope).known
        whose = None if _edits_users(principal) else _own_id(principal)
        ended = await end_session(self._database, _id_of(request), whose)
        await self._parts.tokens.revoked(ended)
        return empty_reply()

    async def delete_all(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        """All of a user but the one that asks."""
        await read_nothing(request)
        principal = caller_of(request.scope).known
        user_id = await self._whose(principal, query.get("user"))
        if user_id is None:
            raise InvalidInput.at("user", "say whose sessions are to end: one user, by name or id")
        but = principal.credential_id if principal.kind == "user" else None
        ended = await end_sessions(self._database, user_id, but)
        await self._parts.tokens.revoked(ended)
        return json_reply({"ended": len(ended)})

    async def _whose(self, principal: Principal, user: str | None) -> UUID | None:
        """None: everybody's. Raises Forbidden for who may not know of others."""
        if user is None and (principal.user_id is not None or not _edits_users(principal)):
            return _own_id(principal)
        if user is None:
            return None
        if user == EVERYBODY:
            _check_edits_users(principal)
            return None
        which = which_user(user)
        if is_self(principal, which):
            return principal.user_id
        _check_edits_users(principal)
        return (await read_user(self._database, which)).id


def _edits_users(principal: Principal) -> bool:
    return "users:edit" in principal.rights


def _check_edits_users(principal: Principal) -> None:
    if not _edits_users(principal):
        raise MissingRight(principal, "users:edit")


def _own_id(principal: Principal) -> UUID:
    if principal.user_id is None:
        raise NoSession
    return principal.user_id


def _id_of(request: Call) -> UUID:
    try:
        return ids.parse("session", request.path_params["session_id"])
    except ValueError as trouble:
        raise InvalidInput.at("{session_id}", str(trouble)) from None


def session_view(session: Session, principal: Principal) -> dict[str, Any]:
    return {
        "id": ids.show("session", session.id),
        "user_id": ids.show("user", session.user_id),
        "user_name": session.user_name,
        "created_at": session.created_at,
        "seen_at": session.seen_at,
        "expires_at": session.expires_at,
        "address": session.address,
        "device": session.device,
        "is_this": session.id == principal.credential_id,
    }


def _user_param(description: str) -> Param:
    return Param(name="user", read=str, description=description, schema=USER_REF)


def routes(parts: ApiParts) -> list[Route]:
    sessions = Sessions(parts)
    return [
        Route(
            method="GET",
            path=NOUN.many,
            needs="sessions:own",
            handle=sessions.index,
            summary="List where you are logged in, newest first",
            tag="Identity",
            query=(
                _user_param("Of this user, by name or id, or `all`; for who may edit users"),
                limit_param(),
                SESSIONS.param(),
            ),
            answers={200: Answer(description="A page of sessions", schema=page_of("Session"))},
            problems=(404, 409),
        ),
        Route(
            method="DELETE",
            path=NOUN.many,
            needs="sessions:own",
            handle=sessions.delete_all,
            summary="End all sessions but this one",
            tag="Identity",
            query=(_user_param("Of this user, by name or id; for who may edit users"),),
            answers={200: Answer(description="They have ended", schema=ref("EndedSessions"))},
            problems=(404, 409),
        ),
        Route(
            method="DELETE",
            path=NOUN.one,
            needs="sessions:own",
            handle=sessions.delete,
            summary="End a session",
            tag="Identity",
            path_schemas=NOUN.its_key,
            answers={204: Answer(description="It has ended")},
            problems=(404, 409),
        ),
    ]
