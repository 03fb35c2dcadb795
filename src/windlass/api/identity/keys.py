"""/v1/keys: API keys with a role or scopes; shown once, rotated with an overlap, revoked.

One's own, for no more than one may oneself; who may edit keys sees and makes everybody's, and keys
that belong to no user: for machines, which stay when their maker leaves. A key that is made may
have a quota; another one is given by those who may edit keys.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http.body import read_fields, read_json, read_nothing
from windlass.api.http.caller import caller_of
from windlass.api.http.noun import Noun
from windlass.api.http.paging import KEYS, page_reply
from windlass.api.http.query import Param, id_schema, limit_param
from windlass.api.http.reply import created_reply, empty_reply, json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import page_of, ref
from windlass.api.identity.schema import (
    KEY_PATCH,
    KEY_POST,
    KEY_ROTATE,
    USER_REF,
    quota_view,
    read_flag,
    required_fields,
)
from windlass.api.identity.users import is_self, which_user
from windlass.api.parts import ApiParts
from windlass.duration import parse_seconds
from windlass.engine.identity.keys import (
    ApiKey,
    MadeKey,
    add_key,
    change_key,
    check_no_quota,
    list_keys,
    read_key,
    revoke_key,
    rights_in,
    rotate_key,
)
from windlass.engine.identity.users import read_user
from windlass.errors import FieldProblem, Forbidden, InvalidInput
from windlass.limits import (
    DURATION_SECONDS_MAX,
    IDENTITY_BODY_BYTES_MAX,
    KEY_OVERLAP_SECONDS,
    KEY_OVERLAP_SECONDS_MAX,
    PAGE_DEFAULT,
)
from windlass.model.identity.account import (
    KeyDraft,
    Scope,
    read_confines,
    read_key_name,
    read_role,
    read_scopes,
)
from windlass.model.identity.principal import MissingRight, Principal
from windlass.model.identity.quota import NO_QUOTA, read_quota_change
from windlass.model.job.submission import read_instant

NOUN: Final = Noun(word="key", key="key_id", key_schema=id_schema("key"))
_TAG: Final = "Identity"


class OutlivesItsMaker(Forbidden):
    """The token would be good for longer than the one that asks for it."""

    code = "outlives_its_maker"

    def __init__(self) -> None:
        super().__init__(
            "this key is good for longer than the token that you came with: rotate it with its "
            "newest token, or as somebody who has no such end"
        )


class ApiKeys:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database

    async def index(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        principal = caller_of(request.scope).known
        limit = query.get("limit", PAGE_DEFAULT)
        after = {"after": query["cursor"]} if "cursor" in query else {}
        user_id = await self._asked_user(principal, query.get("user"))
        keys = await list_keys(self._database, user_id, limit, **after)
        cursor = KEYS.show(keys[-1].id.hex) if len(keys) == limit else None
        return page_reply([key_view(key) for key in keys], cursor)

    async def get(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        whose = _whose(caller_of(request.scope).known)
        return json_reply(key_view(await read_key(self._database, _id_of(request), whose)))

    async def post(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        principal = caller_of(request.scope).known
        body = await read_json(request, IDENTITY_BODY_BYTES_MAX)
        draft, is_personal = read_post(body)
        may_edit = "keys:edit" in principal.rights
        if is_personal is None:
            is_personal = not may_edit
        if not is_personal and not may_edit:
            raise MissingRight(principal, "keys:edit")
        if is_personal and principal.user_id is None:
            raise InvalidInput.at(
                "/is_personal", "you are no user who could have a key of his own: leave it out"
            )
        made = await add_key(
            *(self._database, principal, draft), _own_id(principal) if is_personal else None
        )
        return created_reply(_with_token(made), f"{NOUN.many}/{ids.show('key', made.key.id)}")

    async def patch(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        principal = caller_of(request.scope).known
        given = await read_fields(request, _PATCH)
        if "quota" in given and "keys:edit" not in principal.rights:
            raise MissingRight(principal, "keys:edit")  # or it would hold nobody
        changed = await change_key(
            *(self._database, _id_of(request)),
            name=given.get("name"),
            quota=given.get("quota", {}),
            user_id=_whose(principal),
        )
        if "quota" in given:
            await self._parts.tokens.revoked()
        return json_reply(key_view(changed))

    async def rotate(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        principal = caller_of(request.scope).known
        whose = _whose(principal)
        given = await read_fields(request, _ROTATE)
        key = await read_key(self._database, _id_of(request), whose)
        # He gets its token: a key for keys is none for everything, and no way out of a quota.
        principal.check_gives(rights_in(key.scope))
        if key.id != principal.credential_id:
            check_no_quota(principal)
        overlap = given.get("overlap", KEY_OVERLAP_SECONDS)
        await self._check_outlived(request, whose)
        made = await rotate_key(self._database, _id_of(request), overlap, whose)
        await self._parts.tokens.revoked()
        return json_reply(_with_token(made))

    async def _check_outlived(self, request: Call, whose: UUID | None) -> None:
        """Whoever came with a key, or with a token that was replaced and is good for a while, gets
        no token that is good for longer: or a leak would stay, whoever rotates. Raises Forbidden.
        """
        principal = caller_of(request.scope).known
        if principal.kind != "key" or principal.expires_at is None:
            return
        key = await read_key(self._database, _id_of(request), whose)
        if key.expires_at is None or key.expires_at > principal.expires_at:
            raise OutlivesItsMaker

    async def delete(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        await read_nothing(request)
        whose = _whose(caller_of(request.scope).known)
        await revoke_key(self._database, _id_of(request), whose)
        await self._parts.tokens.revoked()
        return empty_reply()

    async def _asked_user(self, principal: Principal, user: str | None) -> UUID | None:
        """None: everybody's."""
        whose = _whose(principal)
        if user is None:
            return whose
        which = which_user(user)
        if whose is None:
            return (await read_user(self._database, which)).id
        if not is_self(principal, which):
            raise MissingRight(principal, "keys:edit")
        return whose


def _whose(principal: Principal) -> UUID | None:
    """Whose keys one may know of. None: everybody's."""
    return None if "keys:edit" in principal.rights else _own_id(principal)


def _own_id(principal: Principal) -> UUID:
    if principal.user_id is None:
        raise MissingRight(principal, "keys:edit")  # nobody's keys are not for everybody
    return principal.user_id


def _id_of(request: Call) -> UUID:
    try:
        return ids.parse("key", request.path_params["key_id"])
    except ValueError as trouble:
        raise InvalidInput.at("{key_id}", str(trouble)) from None


def _seconds(most: float, least: float = 0) -> Any:
    def read(value: object) -> float:
        seconds = parse_seconds(value, most)
        if seconds < least:
            raise ValueError(f"must be at least {least:g} s")
        return seconds

    return read


_POST: Final = {
    "name": read_key_name,
    "role": read_role,
    "scopes": read_scopes,
    "queues": read_confines,
    "workflows": read_confines,
    "expires_at": read_instant,
    "expires_in": _seconds(DURATION_SECONDS_MAX, 1),
    "is_personal": read_flag,
    "quota": read_quota_change,
}
_PATCH: Final = {"name": read_key_name, "quota": read_quota_change}
_ROTATE: Final = {"overlap": _seconds(KEY_OVERLAP_SECONDS_MAX)}


def read_post(body: object) -> tuple[KeyDraft, bool | None]:
    """Raises InvalidInput with every problem."""
    given = required_fields(body, _POST, ("name",))
    assert isinstance(body, dict), "it has been read"
    problems: list[FieldProblem] = []
    if ("role" in body) == ("scopes" in body) or ("role" in given) == ("scopes" in given):
        detail = "needs either role, or scopes such as jobs:submit"
        problems.append(FieldProblem(pointer="", detail=detail))
    if "expires_at" in given and "expires_in" in given:
        problems.append(FieldProblem(pointer="/expires_in", detail="expires_at says it already"))
    if problems:
        raise InvalidInput(*problems)
    scope = Scope(
        role=given.get("role"),
        rights=given.get("scopes"),
        queues=given.get("queues"),
        workflows=given.get("workflows"),
    )
    draft = KeyDraft(
        name=given["name"],
        scope=scope,
        expires_at=given.get("expires_at"),
        expires_in_seconds=given.get("expires_in"),
        quota=NO_QUOTA.changed(given.get("quota", {})),
    )
    return draft, given.get("is_personal")


def key_view(key: ApiKey) -> dict[str, Any]:
    return {
        "id": ids.show("key", key.id),
        "name": key.name,
        "role": key.scope.role,
        "scopes": key.scope.rights,
        "queues": key.scope.queues,
        "workflows": key.scope.workflows,
        "user_id": ids.show("user", key.user_id) if key.user_id is not None else None,
        "user_name": key.user_name,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "is_expired": key.is_expired,
        "rotated_at": key.rotated_at,
        "overlap_until": key.overlap_until,
        "last_used_at": key.last_used_at,
        "quota": quota_view(key.quota),
    }


def _with_token(made: MadeKey) -> dict[str, Any]:
    return {**key_view(made.key), "token": made.token}


def routes(parts: ApiParts) -> list[Route]:
    keys = ApiKeys(parts)
    needs = "keys:own"
    shown = Answer(description="The key, without its token", schema=ref("Key"))
    user = Param(name="user", read=str, description="Of this user, by name or id", schema=USER_REF)
    return [
        Route(
            method="GET",
            path=NOUN.many,
            needs=needs,
            handle=keys.index,
            summary="List API keys, oldest first",
            tag=_TAG,
            query=(user, limit_param(), KEYS.param()),
            answers={200: Answer(description="A page of keys", schema=page_of("Key"))},
            problems=(404,),
        ),
        Route(
            method="POST",
            path=NOUN.many,
            needs=needs,
            handle=keys.post,
            summary="Make an API key",
            tag=_TAG,
            body=KEY_POST,
            shows_secret=True,
            answers={
                201: Answer(
                    description="The key, with its token: it is shown only now",
                    schema=ref("MadeKey"),
                    headers={"Location": "Where it is from now on"},
                )
            },
            problems=(400, 409, 413, 415),
        ),
        Route(
            method="GET",
            path=NOUN.one,
            needs=needs,
            handle=keys.get,
            summary="Read what may be known of an API key",
            tag=_TAG,
            path_schemas=NOUN.its_key,
            answers={200: shown},
            problems=(404,),
        ),
        Route(
            method="PATCH",
            path=NOUN.one,
            needs=needs,
            handle=keys.patch,
            summary="Change the name or the quota of an API key",
            tag=_TAG,
            path_schemas=NOUN.its_key,
            body=KEY_PATCH,
            answers={200: shown},
            problems=(400, 404, 413, 415),
        ),
        Route(
            method="POST",
            path=f"{NOUN.one}/rotate",
            needs=needs,
            handle=keys.rotate,
            summary="Give an API key another token",
            tag=_TAG,
            path_schemas=NOUN.its_key,
            body=KEY_ROTATE,
            is_body_optional=True,
            shows_secret=True,
            answers={
                200: Answer(
                    description="The key, with its token: it is shown only now",
                    schema=ref("MadeKey"),
                )
            },
            problems=(400, 404, 413, 415),
        ),
        Route(
            method="DELETE",
            path=NOUN.one,
            needs=needs,
            handle=keys.delete,
            summary="Revoke an API key",
            tag=_TAG,
            path_schemas=NOUN.its_key,
            answers={204: Answer(description="It opens nothing any more")},
            problems=(404,),
        ),
    ]
