"""What is shown of users, sessions and keys, and what is taken for them, as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from windlass.api.http.body import take_fields
from windlass.api.http.query import id_schema
from windlass.api.http.shapes import (
    COUNT,
    INSTANT,
    TEXT,
    Named,
    Schema,
    listed,
    nullable,
    record,
    ref,
)
from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import (
    CONFINED_MAX,
    DURATION_SECONDS_MAX,
    KEY_NAME_CHARS_MAX,
    KEY_OVERLAP_SECONDS_MAX,
    PASSWORD_CHARS_MAX,
    PASSWORD_CHARS_MIN,
    USER_NAME_CHARS_MAX,
)
from windlass.model.identity.quota import SCHEMA as QUOTA
from windlass.model.identity.quota import Quota
from windlass.model.identity.rights import RIGHTS, ROLES
from windlass.model.json.value_schema import INSTANT_SCHEMA, NAME_SCHEMA, duration, text_schema

FLAG: Final[Schema] = {"type": "boolean"}
ROLE: Final[Schema] = {"type": "string", "enum": list(ROLES)}
RIGHT: Final[Schema] = {"type": "string", "enum": list(RIGHTS)}
USER_NAME: Final[Schema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": USER_NAME_CHARS_MAX,
    "pattern": "^[A-Za-z0-9][A-Za-z0-9._@+-]*$",
}
# Neither an id nor the word for everybody, in whatever case.
_NEW_USER_NAME: Final[Schema] = {
    **USER_NAME,
    "not": {"pattern": "^([Uu][Ss][Ee][Rr]_|[Aa][Ll][Ll]$)"},
}
# Of a user in a path: by id or by name.
USER_REF: Final[Schema] = USER_NAME
_NEW_PASSWORD: Final[Schema] = {
    "type": "string",
    "minLength": PASSWORD_CHARS_MIN,
    "maxLength": PASSWORD_CHARS_MAX,
    "writeOnly": True,
}
_OLD_PASSWORD: Final[Schema] = {**_NEW_PASSWORD, "minLength": 1}


def _taken(required: Sequence[str], **properties: Schema) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
    }


def _names(item: Schema) -> Schema:
    return nullable(
        {
            "type": "array",
            "items": item,
            "minItems": 1,
            "maxItems": CONFINED_MAX,
            "uniqueItems": True,
        }
    )


LOGIN: Final = _taken(
    ("user", "password"),
    user={"type": "string", "minLength": 1, "maxLength": USER_NAME_CHARS_MAX},
    password=_OLD_PASSWORD,
    wants_token={**FLAG, "default": False},
)
PASSWORD: Final = _taken(("old", "new"), old=_OLD_PASSWORD, new=_NEW_PASSWORD)
USER_POST: Final = _taken(
    ("name", "role"), name=_NEW_USER_NAME, role=ROLE, password=nullable(_NEW_PASSWORD)
)
USER_PATCH: Final = _taken((), role=ROLE, is_disabled=FLAG, quota=nullable(QUOTA))
KEY_POST: Final = {
    **_taken(
        ("name",),
        name=text_schema(KEY_NAME_CHARS_MAX),
        role=ROLE,
        scopes={
            "type": "array",
            "items": RIGHT,
            "minItems": 1,
            "maxItems": len(RIGHTS),
            "uniqueItems": True,
        },
        queues=_names(NAME_SCHEMA),
        workflows=_names(NAME_SCHEMA),
        expires_at=nullable(INSTANT_SCHEMA),
        expires_in=nullable(duration(DURATION_SECONDS_MAX, 1)),
        is_personal=nullable(FLAG),
        quota=nullable(QUOTA),
    ),
    "oneOf": [{"required": ["role"]}, {"required": ["scopes"]}],
}
KEY_PATCH: Final = _taken((), name=text_schema(KEY_NAME_CHARS_MAX), quota=nullable(QUOTA))
KEY_ROTATE: Final = _taken((), overlap=duration(KEY_OVERLAP_SECONDS_MAX))


def quota_view(quota: Quota) -> dict[str, Any]:
    return asdict(quota)


def read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def required_fields(
    body: object, readers: Mapping[str, Any], required: Sequence[str]
) -> dict[str, Any]:
    """The fields of an object. Raises InvalidInput with every mistake."""
    if not isinstance(body, dict):
        raise InvalidInput.at("", f"must be an object with {' and '.join(required)}")
    problems = [
        FieldProblem(pointer=f"/{name}", detail="is required")
        for name in required
        if body.get(name) is None
    ]
    given = take_fields(body, readers, problems)
    if problems:
        raise InvalidInput(*problems)
    return given


def _caller() -> dict[str, Schema]:
    return {
        "kind": {"type": "string", "enum": ["user", "key", "program", "anonymous"]},
        "id": TEXT,
        "name": TEXT,
        "role": nullable(ROLE),
        "rights": listed(RIGHT),
        "lacks": listed(record(right=RIGHT, roles=listed(ROLE))),
        "queues": nullable(listed(TEXT)),
        "workflows": nullable(listed(TEXT)),
        "user_id": nullable(id_schema("user")),
        "session_id": nullable(id_schema("session")),
        "expires_at": nullable(INSTANT),
        "must_change_password": FLAG,
        "csrf_token": nullable(TEXT),
        "auth": {"type": "string", "enum": ["on", "off"]},
        "token": nullable(TEXT),
        "quota": nullable(ref("QuotaLeft")),
    }


def _user() -> dict[str, Schema]:
    return {
        "id": id_schema("user"),
        "name": TEXT,
        "role": ROLE,
        "has_password": FLAG,
        "must_change_password": FLAG,
        "issuer": nullable(TEXT),
        "sessions": COUNT,
        "created_at": INSTANT,
        "changed_at": INSTANT,
        "last_login_at": nullable(INSTANT),
        "disabled_at": nullable(INSTANT),
        "quota": ref("Quota"),
    }


def _key() -> dict[str, Schema]:
    return {
        "id": id_schema("key"),
        "name": TEXT,
        "role": nullable(ROLE),
        "scopes": nullable(listed(RIGHT)),
        "queues": nullable(listed(TEXT)),
        "workflows": nullable(listed(TEXT)),
        "user_id": nullable(id_schema("user")),
        "user_name": nullable(TEXT),
        "created_at": INSTANT,
        "expires_at": nullable(INSTANT),
        "is_expired": FLAG,
        "rotated_at": nullable(INSTANT),
        "overlap_until": nullable(INSTANT),
        "last_used_at": nullable(INSTANT),
        "quota": ref("Quota"),
    }


def _left(**properties: Schema) -> Schema:
    """Of one quota: the limit, and what is left of it."""
    return nullable(record(subject=TEXT, limit={"type": "number"}, **properties))


SCHEMAS: Final[Named] = {
    "Quota": record(
        requests_per_second=nullable({"type": "number"}),
        requests_burst=nullable(COUNT),
        jobs_per_day=nullable(COUNT),
        bytes_waiting=nullable(COUNT),
    ),
    "QuotaLeft": record(
        requests_per_second=_left(burst=COUNT, remaining=COUNT, reset=COUNT),
        jobs_per_day=_left(current=COUNT, remaining=COUNT, day_ends_at=nullable(INSTANT)),
        bytes_waiting=_left(current=nullable(COUNT), remaining=nullable(COUNT)),
    ),
    "Caller": record(**_caller()),
    "User": record(**_user()),
    "UserPassword": record(**_user(), one_time_password=nullable(TEXT)),
    "Session": record(
        id=id_schema("session"),
        user_id=id_schema("user"),
        user_name=TEXT,
        created_at=INSTANT,
        seen_at=INSTANT,
        expires_at=INSTANT,
        address=TEXT,
        device=TEXT,
        is_this=FLAG,
    ),
    "EndedSessions": record(ended=COUNT),
    "LoginMethods": record(
        auth={"type": "string", "enum": ["on", "off"]},
        password=FLAG,
        oidc=nullable(record(name=TEXT, url=TEXT)),
    ),
    "Key": record(**_key()),
    "MadeKey": record(**_key(), token=TEXT),
}
