"""/v1/users: people and their roles. For admins.

No answer shows a password that somebody chose. A one-time password is in the answer to the call
that made it, and nowhere else.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http.auth import session_cookie
from windlass.api.http.body import read_fields, read_json, read_nothing
from windlass.api.http.caller import Caller, caller_of
from windlass.api.http.conditional import ETAG, TAKES, etag, precondition_of
from windlass.api.http.noun import Noun
from windlass.api.http.paging import USERS, page_reply
from windlass.api.http.query import limit_param
from windlass.api.http.reply import created_reply, empty_reply, json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import page_of, ref
from windlass.api.identity.schema import (
    USER_PATCH,
    USER_POST,
    USER_REF,
    quota_view,
    read_flag,
    required_fields,
)
from windlass.api.parts import ApiParts
from windlass.engine.identity.users import (
    NewPassword,
    User,
    add_user,
    change_user,
    delete_user,
    list_users,
    read_user,
    reset_password,
)
from windlass.errors import InvalidInput
from windlass.limits import IDENTITY_BODY_BYTES_MAX, PAGE_DEFAULT, SESSION_SECONDS_MAX
from windlass.model.identity.account import (
    read_new_user_name,
    read_password,
    read_role,
    read_user_name,
)
from windlass.model.identity.principal import Principal
from windlass.model.identity.quota import read_quota_change
from windlass.model.identity.rights import rights_of

NOUN: Final = Noun(word="user", key="user", key_schema=USER_REF)
_TAG: Final = "Identity"


class Users:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database

    async def index(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.get("limit", PAGE_DEFAULT)
        users = await list_users(self._database, limit, query.get("cursor", ""))
        cursor = USERS.show(users[-1].name) if len(users) == limit else None
        return page_reply([user_view(user) for user in users], cursor)

    async def get(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        user = await read_user(self._database, _which(request))
        return json_reply(user_view(user), 200, etag(user.etag))

    async def post(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        body = await read_json(request, IDENTITY_BODY_BYTES_MAX)
        given = required_fields(body, _POST, ("name", "role"))
        try:
            password = given.get("password")
            if password is not None:
                password = read_password(password, given["name"])
        except ValueError as trouble:
            raise InvalidInput.at("/password", str(trouble)) from None
        caller_of(request.scope).known.check_gives(rights_of(given["role"]))
        made = await add_user(
            *(self._database, self._parts.passwords, given["name"], given["role"], password)
        )
        path = f"{NOUN.many}/{ids.show('user', made.user.id)}"
        return created_reply(_with_password(made), path)

    async def patch(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        which, wanted = _which(request), precondition_of(request)
        caller = caller_of(request.scope)
        given = await read_fields(request, _PATCH)
        if "role" in given:
            caller.known.check_gives(rights_of(given["role"]))
        changed = await change_user(
            *(self._database, which),
            role=given.get("role"),
            is_disabled=given.get("is_disabled"),
            quota=given.get("quota", {}),
            wanted=wanted,
            session_id=await self._own_session(caller, which),
        )
        await self._parts.tokens.revoked(changed.ended)
        headers = [etag(changed.user.etag)]
        if changed.session is not None:
            headers.append(session_cookie(changed.session.token, SESSION_SECONDS_MAX))
        return json_reply(user_view(changed.user), 200, *headers)

    async def delete(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        await read_nothing(request)
        await self._parts.tokens.revoked(await delete_user(self._database, _which(request)))
        return empty_reply()

    async def reset(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        await read_nothing(request)
        user = await read_user(self._database, _which(request))
        # Whoever gets the password is that user from then on.
        caller_of(request.scope).known.check_gives(rights_of(user.role))
        reset = await reset_password(self._database, self._parts.passwords, user.id)
        await self._parts.tokens.revoked(reset.ended)
        return json_reply(_with_password(reset))

    async def _own_session(self, caller: Caller, which: UUID | str) -> UUID | None:
        """The session of the cookie that asks, if it is one of the user who is changed."""
        principal = caller.known
        if principal.kind != "user" or b"authorization" in caller.headers:
            return None
        user = await read_user(self._database, which)
        return principal.credential_id if user.id == principal.user_id else None


def which_user(text: str) -> UUID | str:
    """By id, or by name. Raises InvalidInput."""
    try:
        return ids.parse("user", text)
    except ValueError:
        pass
    try:
        return read_user_name(text)
    except ValueError as trouble:
        raise InvalidInput.at("{user}", str(trouble)) from None


def is_self(principal: Principal, which: UUID | str) -> bool:
    """Is this the caller, or the user whose key it is? A key has a name of its own."""
    if isinstance(which, UUID):
        return which == principal.user_id
    return principal.kind == "user" and which == principal.name


def _which(request: Call) -> UUID | str:
    return which_user(request.path_params["user"])


def _password(value: object) -> str:
    """Judged when the name is known."""
    return read_password(value)


_POST: Final = {"name": read_new_user_name, "role": read_role, "password": _password}
_PATCH: Final = {"role": read_role, "is_disabled": read_flag, "quota": read_quota_change}


def user_view(user: User) -> dict[str, Any]:
    return {
        "id": ids.show("user", user.id),
        "name": user.name,
        "role": user.role,
        "has_password": user.has_password,
        "must_change_password": user.must_change_password,
        "issuer": user.issuer,
        "sessions": user.sessions,
        "created_at": user.created_at,
        "changed_at": user.changed_at,
        "last_login_at": user.last_login_at,
        "disabled_at": user.disabled_at,
        "quota": quota_view(user.quota),
    }


def _with_password(made: NewPassword) -> dict[str, Any]:
    return {**user_view(made.user), "one_time_password": made.password}


def routes(parts: ApiParts) -> list[Route]:
    users = Users(parts)
    needs = "users:edit"
    shown = Answer(description="The user", schema=ref("User"), headers=ETAG)
    return [
        Route(
            method="GET",
            path=NOUN.many,
            needs=needs,
            handle=users.index,
            summary="List users by name",
            tag=_TAG,
            query=(limit_param(), USERS.param()),
            answers={200: Answer(description="A page of users", schema=page_of("User"))},
        ),
        Route(
            method="POST",
            path=NOUN.many,
            needs=needs,
            handle=users.post,
            summary="Make a user",
            tag=_TAG,
            body=USER_POST,
            shows_secret=True,
            answers={
                201: Answer(
                    description="The user, with a one-time password unless one was given",
                    schema=ref("UserPassword"),
                    headers={"Location": "Where it is from now on"},
                )
            },
            problems=(400, 409, 413, 415),
        ),
        Route(
            method="GET",
            path=NOUN.one,
            needs=needs,
            handle=users.get,
            summary="Read a user",
            tag=_TAG,
            path_schemas=NOUN.its_key,
            answers={200: shown},
            problems=(404,),
        ),
        Route(
            method="PATCH",
            path=NOUN.one,
            needs=needs,
            handle=users.patch,
            summary="Change the role or the quota of a user, or keep it out",
            tag=_TAG,
            path_schemas=NOUN.its_key,
            headers=TAKES,
            body=USER_PATCH,
            answers={200: shown},
            problems=(400, 404, 409, 412, 413, 415),
        ),
        Route(
            method="DELETE",
            path=NOUN.one,
            needs=needs,
            handle=users.delete,
            summary="Delete a user, with sessions and keys",
            tag=_TAG,
            path_schemas=NOUN.its_key,
            answers={204: Answer(description="The user is gone")},
            problems=(404, 409),
        ),
        Route(
            method="POST",
            path=f"{NOUN.one}/reset-password",
            needs=needs,
            handle=users.reset,
            summary="Give a user a one-time password, and end all sessions",
            tag=_TAG,
            path_schemas=NOUN.its_key,
            shows_secret=True,
            answers={200: Answer(description="The one-time password", schema=ref("UserPassword"))},
            problems=(404,),
        ),
    ]
