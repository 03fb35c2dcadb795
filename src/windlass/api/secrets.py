"""/v1/secrets: write-only secrets and their rotation; which hosts each may go to.

No answer shows a value that somebody sent, whole or in part: not even to say what is wrong with it.
One that Windlass made itself is shown once, in the answer to the call that made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from starlette.types import ASGIApp

from windlass.api.http.body import read_json, read_nothing
from windlass.api.http.conditional import ETAG, TAKES_BOTH, etag, precondition_of
from windlass.api.http.host import BOUND_SCHEMA
from windlass.api.http.noun import Noun
from windlass.api.http.paging import SECRETS, page_reply
from windlass.api.http.reply import empty_reply, json_reply
from windlass.api.http.route import Answer, Call, Route
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
from windlass.api.parts import ApiParts
from windlass.duration import parse_seconds
from windlass.engine.secrets.secrets import (
    Hosts,
    Secret,
    bind_secret,
    delete_secret,
    list_secrets,
    put_secret,
    read_secret,
)
from windlass.engine.secrets.value import GENERATED, Value, generate, read_value
from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import (
    PAGE_DEFAULT,
    REDACTED_CHARS_MIN,
    SECRET_BODY_BYTES_MAX,
    SECRET_BYTES_MAX,
    SECRET_HOSTS_MAX,
    SECRET_OVERLAP_SECONDS,
    SECRET_OVERLAP_SECONDS_MAX,
)
from windlass.model.job.secret_hosts import read_hosts
from windlass.model.job.submission import read_name
from windlass.model.json.value_schema import NAME_SCHEMA

_FIELDS: Final = ("value", "generate", "overlap", "hosts")
_OVERLAP: Final = (
    f'must be seconds or text such as "12h" or "7d", at most {SECRET_OVERLAP_SECONDS_MAX:.0f} s'
)


class Secrets:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database
        self._sealer = parts.sealer

    async def index(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.get("limit", PAGE_DEFAULT)
        secrets = await list_secrets(self._database, self._sealer, limit, query.get("cursor", ""))
        cursor = SECRETS.show(secrets[-1].name) if len(secrets) == limit else None
        return page_reply([secret_view(secret) for secret in secrets], cursor)

    async def get(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        secret = await read_secret(self._database, self._sealer, _name_of(request))
        return json_reply(secret_view(secret), 200, etag(secret.etag))

    async def put(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name, wanted = _name_of(request), precondition_of(request)
        asked = read_put(await read_json(request, SECRET_BODY_BYTES_MAX))
        shown: dict[str, Any] = {}
        if asked.value is not None:
            secret = await put_secret(
                *(self._database, self._sealer, name, asked.value),
                *(asked.overlap_seconds, asked.hosts),
                wanted=wanted,
            )
            shown = {"value": asked.value.text} if asked.is_generated else {}
        else:
            assert asked.hosts is not None, "there is something to put"
            secret = await bind_secret(
                self._database, self._sealer, name, asked.hosts, wanted=wanted
            )
        self._parts.announcer.secrets([name])
        return json_reply({**secret_view(secret), **shown}, 200, etag(secret.etag))

    async def delete(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name = _name_of(request)
        await read_nothing(request)
        await delete_secret(self._database, name)
        self._parts.announcer.secrets([name])
        return empty_reply()


def _name_of(request: Call) -> str:
    try:
        return read_name(request.path_params["name"])
    except ValueError as trouble:
        raise InvalidInput.at("{name}", str(trouble)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """What a PUT asks for."""

    value: Value | None  # None: it stays as it is, only its hosts are new
    is_generated: bool  # by us, so the caller has to be told
    overlap_seconds: float
    hosts: Hosts | None  # None: they stay as they are


def read_put(body: object) -> Put:
    """Raises InvalidInput with every problem."""
    if not isinstance(body, dict):
        raise InvalidInput.at("", "must be an object with value, generate or hosts")
    problems = [
        FieldProblem(
            pointer=f"/{name[:60]}", detail=f"unknown field; known are {' '.join(_FIELDS)}"
        )
        for name in body
        if name not in _FIELDS
    ]
    said = body.keys() & {"value", "generate"}
    if len(said) > 1 or not (said or "hosts" in body):
        detail = "needs either value, or generate to have one made, or hosts alone"
        problems.append(FieldProblem(pointer="", detail=detail))
    overlap_seconds = SECRET_OVERLAP_SECONDS
    if "overlap" in body:
        try:
            overlap_seconds = parse_seconds(body["overlap"], SECRET_OVERLAP_SECONDS_MAX)
        except ValueError:
            # Said without what was given: somebody may have mixed up the fields.
            problems.append(FieldProblem(pointer="/overlap", detail=_OVERLAP))
        if not said and "hosts" in body:
            detail = "is for a new value, and there is none"
            problems.append(FieldProblem(pointer="/overlap", detail=detail))
    value: Value | None = None
    hosts: Hosts | None = None
    try:
        value = _value_in(body)
    except InvalidInput as trouble:
        problems += trouble.problems
    try:
        hosts = _hosts_in(body)
    except ValueError as trouble:
        problems.append(FieldProblem(pointer="/hosts", detail=str(trouble)))
    if problems:
        raise InvalidInput(*problems)
    return Put(
        value=value,
        is_generated="generate" in body,
        overlap_seconds=overlap_seconds,
        hosts=hosts,
    )


def _hosts_in(body: dict[str, Any]) -> Hosts | None:
    if "hosts" not in body:
        return None
    return Hosts(names=None if body["hosts"] is None else read_hosts(body["hosts"]))


def _value_in(body: dict[str, Any]) -> Value | None:
    """None: neither field is there."""
    if "generate" in body:
        kind = body["generate"]
        if not isinstance(kind, str) or kind not in GENERATED:
            raise InvalidInput.at("/generate", f"must be one of: {' '.join(GENERATED)}")
        return generate(kind)
    if "value" in body:
        try:
            return read_value(body["value"])
        except ValueError as trouble:
            raise InvalidInput.at("/value", str(trouble)) from None
    return None


def secret_view(secret: Secret) -> dict[str, Any]:
    return {
        "name": secret.name,
        "kind": secret.kind,
        "public_key": secret.public_key,
        "version": secret.version,
        "versions": secret.versions,
        "created_at": secret.created_at,
        "rotated_at": secret.rotated_at,
        "overlap_until": secret.overlap_until,
        "is_readable": secret.is_readable,
        "hosts": secret.hosts,
    }


def _put_schema() -> Schema:
    overlap = {
        "description": f"How long the version before stays good; {_OVERLAP}; 24h unless said",
        "anyOf": [
            {"type": "number", "minimum": 0, "maximum": SECRET_OVERLAP_SECONDS_MAX},
            {
                "type": "string",
                "pattern": "^([0-9]{1,6}(ms|s)|[0-9]{1,4}m|[0-9]{1,2}h|[12]?[0-9]d)$",
            },
        ],
    }
    value = {
        "description": "`whsec_…`, `whmk_…` and `whsk_…` are keys to sign with; else as it is",
        "type": "string",
        "minLength": REDACTED_CHARS_MIN,
        "maxLength": SECRET_BYTES_MAX,
        # So many between the blanks around it.
        "pattern": rf"[^ \t][\s\S]{{{REDACTED_CHARS_MIN - 2},}}[^ \t]",
        "writeOnly": True,
    }
    chosen: dict[str, Schema] = {
        "value": value,
        "generate": {"type": "string", "enum": list(GENERATED)},
    }
    hosts = {
        "description": "The targets it may go to; null: the next use binds it; left out: as before",
        **nullable(
            {
                "type": "array",
                "items": BOUND_SCHEMA,
                "minItems": 1,
                "maxItems": SECRET_HOSTS_MAX,
            }
        ),
    }
    alone = {
        "type": "object",
        "additionalProperties": False,
        "required": ["hosts"],
        "properties": {"hosts": hosts},
    }
    return {
        "oneOf": [
            {
                "type": "object",
                "additionalProperties": False,
                "required": [name],
                "properties": {name: schema, "overlap": overlap, "hosts": hosts},
            }
            for name, schema in chosen.items()
        ]
        + [alone]
    }


def routes(parts: ApiParts) -> list[Route]:
    secrets = Secrets(parts)
    noun = Noun(word="secret", key="name", key_schema=NAME_SCHEMA)
    put = Route(
        method="PUT",
        path=noun.one,
        needs="secrets:edit",
        handle=secrets.put,
        summary="Store a secret, or rotate it, or say where it may go",
        description="The version before stays good until its overlap ends. A value that was "
        "generated is in the answer to this call and nowhere else. `hosts` alone leaves the value "
        "as it is. A secret without hosts is bound to those of the first delivery that sends it.",
        tag=noun.tag,
        path_schemas=noun.its_key,
        headers=TAKES_BOTH,
        body=_put_schema(),
        answers={200: Answer(description="The secret", schema=ref("SecretPut"), headers=ETAG)},
        problems=(400, 404, 409, 412, 413, 415),
    )
    deleted = Route(
        method="DELETE",
        path=noun.one,
        needs="secrets:edit",
        handle=secrets.delete,
        summary="Forget a secret and all its versions",
        tag=noun.tag,
        path_schemas=noun.its_key,
        answers={204: Answer(description="It is forgotten")},
        problems=(404,),
    )
    return [
        noun.index(secrets.index, "List secrets by name, without their values", SECRETS),
        noun.get(secrets.get, "Read what may be known of a secret"),
        put,
        deleted,
    ]


def _secret() -> dict[str, Schema]:
    return {
        "name": TEXT,
        "kind": {"type": "string", "enum": ["hmac", "ed25519", "derived", "other"]},
        "public_key": nullable(TEXT),
        "version": COUNT,
        "versions": COUNT,
        "created_at": INSTANT,
        "rotated_at": nullable(INSTANT),
        "overlap_until": nullable(INSTANT),
        "is_readable": {"type": "boolean"},
        "hosts": nullable(listed(TEXT)),
    }


SCHEMAS: Final[Named] = {
    "Secret": record(**_secret()),
    "SecretPut": {
        **record(**_secret()),
        "properties": {**_secret(), "value": {**TEXT, "description": "Only if generated"}},
    },
}
