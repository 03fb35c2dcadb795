"""/v1/signals: tell nodes something (broadcast) and wait until they have acknowledged it."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http.body import Readers, read_json, take_fields
from windlass.api.http.query import id_schema, read_wait, wait_param
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import ANY_OBJECT, TEXT, Named, Schema, listed, record, ref
from windlass.api.parts import ApiParts
from windlass.duration import parse_seconds
from windlass.engine.audit.record import Entry, record_alone
from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import (
    SIGNAL_PAYLOAD_BYTES_MAX,
    SIGNAL_TARGETS_MAX,
    SIGNAL_WAIT_SECONDS,
    WAIT_SECONDS_MAX,
)
from windlass.model.job.submission import read_name
from windlass.model.json import strict as strict_json
from windlass.model.json.value_schema import NAME_SCHEMA

ALL: Final = "all"


def routes(parts: ApiParts) -> list[Route]:
    async def send(request: Call, _query: dict[str, Any]) -> ASGIApp:
        asked = read_signal(await read_json(request))
        # Before it is sent: none goes without an entry.
        await record_alone(parts.database, _entry(*asked))
        return json_reply(await parts.signaller.signal(*asked))

    return [
        Route(
            method="POST",
            path="/v1/signals",
            needs="cluster:signal",
            handle=send,
            summary="Tell nodes something and wait until each has done it",
            description="Dead and unknown nodes are `missing` at once; those that do not "
            "acknowledge within `wait` are missing then, and may still do it. `answers` holds what "
            "each node said; a name that it does not know is said there as an `error`.",
            tag="Nodes",
            body=signal_schema(),
            answers={200: Answer(description="Who did", schema=ref("Signalled"))},
            problems=(400, 413, 415),
        ),
    ]


def _entry(
    targets: list[UUID] | None, name: str, payload: dict[str, Any], _wait_seconds: float
) -> Entry:
    shown = ALL if targets is None else [ids.show("node", target) for target in targets]
    return Entry(action="node.signal", name=name, after={"targets": shown, "payload": payload})


def read_signal(value: object) -> tuple[list[UUID] | None, str, dict[str, Any], float]:
    """Targets (None: all), name, payload, seconds to wait. Raises InvalidInput."""
    if not isinstance(value, dict):
        raise InvalidInput.at("", 'must be an object such as {"targets": "all", "name": "ping"}')
    problems: list[FieldProblem] = []
    given = take_fields(value, _READERS, problems, reads_null=True)
    needed = [name for name in ("targets", "name") if name not in value]
    problems += [FieldProblem(pointer=f"/{name}", detail="is needed") for name in needed]
    if problems:
        raise InvalidInput(*problems)
    payload, wait = given.get("payload", {}), given.get("wait", SIGNAL_WAIT_SECONDS)
    return given["targets"], given["name"], payload, wait


def _targets(value: object) -> list[UUID] | None:
    if value == ALL:
        return None
    if not isinstance(value, list) or not 1 <= len(value) <= SIGNAL_TARGETS_MAX:
        raise ValueError(f'must be "{ALL}", or a list of 1 to {SIGNAL_TARGETS_MAX} node ids')
    found, problems = [], []
    for place, one in enumerate(value):
        try:
            found.append(ids.parse("node", one if isinstance(one, str) else strict_json.write(one)))
        except ValueError as trouble:
            problems.append(FieldProblem(pointer=f"/{place}", detail=str(trouble)))
    if problems:
        raise InvalidInput(*problems)
    return found


def _payload(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    if len(strict_json.write(value).encode()) > SIGNAL_PAYLOAD_BYTES_MAX:
        raise ValueError(f"must be at most {SIGNAL_PAYLOAD_BYTES_MAX} bytes")
    return value


def _wait(value: object) -> float:
    return read_wait(value) if isinstance(value, str) else parse_seconds(value, WAIT_SECONDS_MAX)


_READERS: Final[Readers] = {
    "targets": _targets,
    "name": read_name,
    "payload": _payload,
    "wait": _wait,
}


def signal_schema() -> Schema:
    nodes = {
        "type": "array",
        "items": id_schema("node"),
        "minItems": 1,
        "maxItems": SIGNAL_TARGETS_MAX,
    }
    seconds = {"type": "number", "minimum": 0, "maximum": WAIT_SECONDS_MAX}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["targets", "name"],
        "properties": {
            "targets": {"anyOf": [{"const": ALL}, nodes]},
            "name": NAME_SCHEMA,
            "payload": ANY_OBJECT,
            "wait": {"anyOf": [seconds, wait_param().schema]},
        },
    }


SCHEMAS: Final[Named] = {
    "Signalled": record(
        id=id_schema("signal"),
        acknowledged=listed(id_schema("node")),
        missing=listed(id_schema("node")),
        answers={"type": "object", "additionalProperties": ANY_OBJECT},
        reasons={"type": "object", "additionalProperties": TEXT},
    ),
}
