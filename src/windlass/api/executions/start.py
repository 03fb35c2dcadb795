"""Starting an execution: POST /v1/workflows/{name}/executions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.types import ASGIApp

from windlass.api.executions.schema import START, VERSION_MAX
from windlass.api.executions.view import execution_view
from windlass.api.http import body as bodies
from windlass.api.http import shapes as schemas
from windlass.api.http.body import fields_of
from windlass.api.http.caller import caller_of
from windlass.api.http.idempotency import HEADER, KEY_SCHEMA, REPLAYED, idempotency_of
from windlass.api.http.reply import LOCATION, created_reply, json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.parts import ApiParts
from windlass.api.workflows.workflows import ITS_NAME, PATH, name_of
from windlass.engine.executions.start import Start
from windlass.engine.identity.quotas import counting_starts
from windlass.errors import QuotaExceeded
from windlass.limits import INPUT_BYTES_MAX, KEY_CHARS_MAX
from windlass.model.job.states import PRIORITY_NAMES, PRIORITY_NUMBERS
from windlass.model.job.submission import read_tags, read_text
from windlass.model.json import strict as strict_json
from windlass.model.json.whole import read_whole


class Starts:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts

    async def post(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name = name_of(request)
        caller = caller_of(request.scope)
        body = await bodies.read_bytes(request)
        if body:
            bodies.check_type(caller)
        start = Start(
            workflow=name,
            trace_id=caller.trace_id(),
            owner=caller.owner,
            idempotency=idempotency_of(caller, "POST", request.scope["path"], body),
            quotas=counting_starts(caller.known.quotas),
            **fields_of(await bodies.parse(body) if body else {}, _READERS),
        )
        try:
            begun = await self._parts.starts.start(start)
        except QuotaExceeded as refused:
            self._parts.on_rejected("", refused.quota)  # it has no queue of its own
            raise
        if begun.is_replayed:
            return json_reply(execution_view(begun.row), 200, REPLAYED)
        self._parts.announcer.happened()
        view = execution_view(begun.row)
        return created_reply(view, f"/v1/executions/{view['id']}")


def _input(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    if len(strict_json.write(value).encode()) > INPUT_BYTES_MAX:
        raise ValueError(f"is larger than {INPUT_BYTES_MAX} bytes; store it and pass a reference")
    return value


def _version(value: object) -> int:
    return read_whole(value, VERSION_MAX)


def _priority(value: object) -> int:
    if not isinstance(value, str) or value not in PRIORITY_NUMBERS:
        raise ValueError(f"must be one of: {' '.join(PRIORITY_NAMES)}")
    return PRIORITY_NUMBERS[value]


def _correlation_id(value: object) -> str:
    return read_text(value, KEY_CHARS_MAX)


_READERS: Final[dict[str, Callable[[object], Any]]] = {
    "input": _input,
    "version": _version,
    "priority": _priority,
    "correlation_id": _correlation_id,
    "tags": read_tags,
}


def routes(parts: ApiParts) -> list[Route]:
    shown = schemas.ref("Execution")
    return [
        Route(
            method="POST",
            path=f"{PATH}/executions",
            needs="executions:start",
            confined_by="workflow",
            handle=Starts(parts).post,
            summary="Start an execution of a workflow",
            description="Of its newest version, unless `version` says another. `input` is checked "
            "against the definition, and its defaults are filled in.",
            tag="Executions",
            path_schemas=ITS_NAME,
            headers={HEADER: ("Makes a repetition harmless", KEY_SCHEMA)},
            body=START,
            is_body_optional=True,
            answers={
                201: Answer(
                    description="Accepted: it will not be lost", schema=shown, headers=LOCATION
                ),
                200: Answer(
                    description="This Idempotency-Key was answered before",
                    schema=shown,
                    headers={"Idempotent-Replayed": "`true`: this key was answered before"},
                ),
            },
            problems=(400, 404, 409, 413, 415, 429),
        )
    ]
