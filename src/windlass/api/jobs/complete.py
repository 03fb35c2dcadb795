"""Completion by callback: a receiver that answered "later" says how the work ended.

Or that it needs more time (`extend`). The token of the delivery is the only key: it opens this door
for one job and shows no more of the job than where it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http import shapes as schemas
from windlass.api.http.body import read_json
from windlass.api.http.caller import Caller, caller_of
from windlass.api.http.query import id_schema, read_short_text, short_text_schema
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.jobs.jobs import job_id_of
from windlass.api.parts import ApiParts
from windlass.duration import parse_seconds
from windlass.engine.jobs.complete import Completer
from windlass.engine.jobs.read import read_job
from windlass.errors import FieldProblem, InvalidInput, WrongToken
from windlass.limits import CALLBACK_SECONDS_MAX, KEY_CHARS_MAX, RESULT_BYTES_MAX
from windlass.model.identity.rights import NOBODY
from windlass.model.job.outcome import Failed, Succeeded
from windlass.model.json import strict as strict_json
from windlass.model.json.pointer import step

# Written out, a result takes more room than it is kept in, and there are other fields.
BYTES_MAX: Final = 2 * RESULT_BYTES_MAX
CAUSE_CHARS_MAX: Final = 200
CAUSE, MESSAGE = "receiver", "the receiver says that it failed"
_BEARER: Final = b"bearer "
_FIELDS: Final = {
    "succeeded": {"token", "state", "result"},
    "failed": {"token", "state", "error", "is_final"},
    "extend": {"token", "extend"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    token: str | None  # None: it is in the head of the request, or nowhere
    said: Succeeded | Failed | float  # how it ended, or how many seconds more


class Complete:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._completer = Completer(parts.database, parts.follower.follow)

    async def __call__(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        job_id = job_id_of(request)
        asked = read_completion(await read_json(request, BYTES_MAX))
        token = asked.token or _bearer(caller_of(request.scope))
        if token is None:
            raise WrongToken(ids.show("job", job_id))
        return await self._apply(job_id, token, asked.said)

    async def _apply(self, job_id: UUID, token: str, said: Succeeded | Failed | float) -> ASGIApp:
        until = None
        if isinstance(said, float):
            until = await self._completer.extend(job_id, token, said)
        else:
            await self._completer.complete(job_id, token, said)
        job = await read_job(self._parts.database, job_id)
        return json_reply(
            {
                "id": ids.show("job", job_id),
                "state": job["state"],
                "attempt": job["attempt"],
                "run_at": job["run_at"],
                "finished_at": job["finished_at"],
                "callback_until": until,
            }
        )


def _bearer(caller: Caller) -> str | None:
    given = caller.headers.get(b"authorization", b"")
    if given[: len(_BEARER)].lower() != _BEARER:
        return None
    return given[len(_BEARER) :].strip().decode("latin-1") or None


def read_completion(value: object) -> Completion:
    """What the receiver says. Raises InvalidInput with every problem."""
    if not isinstance(value, dict):
        raise InvalidInput.at("", 'must be an object such as {"state": "succeeded"}')
    way = "extend" if "extend" in value else value.get("state")
    known = _FIELDS.get(way) if isinstance(way, str) else None
    if known is None or ("extend" in value and "state" in value):
        raise InvalidInput.at("/state", 'must be "succeeded" or "failed"; or send "extend" alone')
    given: dict[str, Any] = {}
    unknown = f"unknown field; with {way} come {' '.join(sorted(known))}"
    problems: list[FieldProblem] = []
    for name, found in value.items():
        if name not in known:
            problems.append(FieldProblem(pointer=step(name), detail=unknown))
            continue
        try:
            given[name] = _READERS[name](found)
        except ValueError as trouble:
            problems.append(FieldProblem(pointer=f"/{name}", detail=str(trouble)))
    if problems:
        raise InvalidInput(*problems)
    return Completion(token=given.get("token"), said=_said(way, given))


def _said(way: object, given: dict[str, Any]) -> Succeeded | Failed | float:
    match way:
        case "succeeded":
            return Succeeded(given.get("result"))
        case "failed":
            cause, message = given.get("error", (CAUSE, MESSAGE))
            return Failed(cause, message, is_final=given.get("is_final", False))
        case _:
            seconds: float = given["extend"]
            return seconds


def _read_token(value: object) -> str | None:
    return None if value is None else read_short_text(value, KEY_CHARS_MAX)


def _read_result(value: object) -> bytes | None:
    if value is None:
        return None
    result = strict_json.write(value).encode()
    if len(result) > RESULT_BYTES_MAX:
        raise ValueError(f"is larger than {RESULT_BYTES_MAX} bytes; store it and send where it is")
    return result


def _read_error(value: object) -> tuple[str, str]:
    """Its cause and its message."""
    value = {} if value is None else value
    if not isinstance(value, dict) or not value.keys() <= {"cause", "message"}:
        raise ValueError('must be an object such as {"message": "…", "cause": "…"}')
    cause, message = value.get("cause"), value.get("message")
    if not isinstance(message, str | None):
        raise ValueError("its message must be text")
    if cause is not None:
        cause = read_short_text(cause, CAUSE_CHARS_MAX)
    return cause or CAUSE, message or MESSAGE


def _read_flag(value: object) -> bool:
    if not isinstance(value, bool | None):
        raise ValueError("must be true or false")
    return bool(value)


_READERS: Final[dict[str, Callable[[object], Any]]] = {
    "token": _read_token,
    "state": lambda state: state,
    "result": _read_result,
    "error": _read_error,
    "is_final": _read_flag,
    "extend": lambda value: parse_seconds(value, CALLBACK_SECONDS_MAX),
}


def _schema() -> schemas.Schema:
    error: schemas.Schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "message": schemas.nullable(schemas.TEXT),
            "cause": schemas.nullable(short_text_schema(CAUSE_CHARS_MAX)),
        },
    }
    token = schemas.nullable(short_text_schema(KEY_CHARS_MAX))
    ways: tuple[dict[str, schemas.Schema], ...] = (
        {"state": {"const": "succeeded"}, "result": {}},
        {
            "state": {"const": "failed"},
            "error": schemas.nullable(error),
            "is_final": schemas.nullable({"type": "boolean"}),
        },
        {"extend": schemas.duration(CALLBACK_SECONDS_MAX)},
    )
    return {
        "oneOf": [
            {
                "type": "object",
                "additionalProperties": False,
                "required": [next(iter(way))],
                "properties": {**way, "token": token},
            }
            for way in ways
        ]
    }


def routes(parts: ApiParts) -> list[Route]:
    shown = schemas.record(
        id=id_schema("job"),
        state=schemas.STATE,
        attempt=schemas.COUNT,
        run_at=schemas.nullable(schemas.INSTANT),
        finished_at=schemas.nullable(schemas.INSTANT),
        callback_until=schemas.nullable(schemas.INSTANT),
    )
    return [
        Route(
            method="POST",
            path="/v1/jobs/{job_id:str}/complete",
            needs=NOBODY,
            handle=Complete(parts),
            summary="Say how a job that its receiver took over has ended",
            tag="Jobs",
            description="For receivers that answered 202 with `windlass-async: true`. Needs no API "
            "key but the `windlass-callback-token` of the delivery, as `token` or as "
            "`Authorization: Bearer`. `extend` moves the deadline to so long from now. 2xx means "
            "that what this request says stands; 409 that something else does. 503 with "
            "`Retry-After` asks to say the same again: the delivery may not be on record yet.",
            path_schemas={"job_id": id_schema("job")},
            body=_schema(),
            answers={200: Answer(description="Where the job stands now", schema=shown)},
            problems=(400, 403, 404, 409, 413, 415, 503),
            takes_token=True,
        )
    ]
