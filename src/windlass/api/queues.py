"""/v1/queues: what they hold, their limits, pause and resume; and /v1/stats, all jobs counted."""

from __future__ import annotations

from typing import Any, Final

from starlette.types import ASGIApp

from windlass.api.http.body import read_json, read_nothing
from windlass.api.http.conditional import etag, precondition_of
from windlass.api.http.noun import Noun
from windlass.api.http.paging import QUEUES, page_reply
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import COUNT, INSTANT, TEXT, Named, Schema, nullable, record, ref
from windlass.api.parts import ApiParts
from windlass.engine.jobs.queues import (
    Queue,
    QueueLimits,
    list_queues,
    pause_queue,
    put_queue,
    read_queue,
    resume_queue,
)
from windlass.engine.jobs.stats import add_up, read_counters
from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import PAGE_DEFAULT
from windlass.model.job.submission import read_name
from windlass.model.json.value_schema import NAME_SCHEMA
from windlass.model.json.whole import whole

# What the columns hold.
_WHOLE_MAX: Final = {"max_jobs": 2**53 - 1, "max_bytes": 2**53 - 1, "max_running": 2**31 - 1}
_RATES: Final = {"rate": "starts", "submit_rate": "jobs"}
_RATE_MIN, _RATE_MAX = 0.001, 1_000_000.0


class Queues:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database

    async def index(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.get("limit", PAGE_DEFAULT)
        queues = await list_queues(self._database, limit, query.get("cursor", ""))
        cursor = QUEUES.show(queues[-1].name) if len(queues) == limit else None
        return page_reply([queue_view(queue) for queue in queues], cursor)

    async def get(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        return _shown(await read_queue(self._database, _name_of(request)))

    async def put(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name, wanted = _name_of(request), precondition_of(request)
        limits = read_queue_limits(await read_json(request))
        queue = await put_queue(self._database, name, limits, wanted)
        self._parts.announcer.happened()
        return _shown(queue)

    async def pause(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name = _name_of(request)
        await read_nothing(request)
        queue = await pause_queue(self._database, name)
        self._parts.announcer.happened()
        return _shown(queue)

    async def resume(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name = _name_of(request)
        await read_nothing(request)
        queue = await resume_queue(self._database, name)
        # Whatever gathered meanwhile may start: every line of the queue is woken.
        self._parts.announcer.lines({(name, priority): 0.0 for priority in range(4)})
        return _shown(queue)


def _name_of(request: Call) -> str:
    try:
        return read_name(request.path_params["name"])
    except ValueError as trouble:
        raise InvalidInput.at("{name}", str(trouble)) from None


def read_queue_limits(value: object) -> QueueLimits:
    """The limits in a PUT. What is absent or null is no limit. Raises InvalidInput."""
    if not isinstance(value, dict):
        raise InvalidInput.at("", "must be an object of limits")
    problems: list[FieldProblem] = []
    given: dict[str, Any] = {}
    for name, found in value.items():
        if name not in (*_WHOLE_MAX, *_RATES):
            detail = f"unknown field; known are {' '.join((*_WHOLE_MAX, *_RATES))}"
            problems.append(FieldProblem(pointer=f"/{name[:60]}", detail=detail))
        elif found is not None and not _is_number(name, found):
            problems.append(FieldProblem(pointer=f"/{name}", detail=_allowed(name)))
        else:
            given[name] = None if found is None else (float if name in _RATES else int)(found)
    if problems:
        raise InvalidInput(*problems)
    return QueueLimits(**given)


def _is_number(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return False
    if name in _RATES:
        return isinstance(value, int | float) and _RATE_MIN <= value <= _RATE_MAX
    found = whole(value)
    return found is not None and 0 <= found <= _WHOLE_MAX[name]


def _allowed(name: str) -> str:
    if name in _RATES:
        return f"must be {_RATES[name]} a second from {_RATE_MIN} to {_RATE_MAX:.0f}, or null"
    return f"must be a whole number from 0 to {_WHOLE_MAX[name]}, or null"


def _shown(queue: Queue) -> ASGIApp:
    return json_reply(queue_view(queue), 200, etag(queue.limits.etag))


def queue_view(queue: Queue) -> dict[str, Any]:
    return {
        "name": queue.name,
        "max_jobs": queue.limits.max_jobs,
        "max_bytes": queue.limits.max_bytes,
        "max_running": queue.limits.max_running,
        "rate": queue.limits.rate,
        "submit_rate": queue.limits.submit_rate,
        "is_paused": queue.is_paused,
        "paused_at": queue.paused_at,
        "created_at": queue.created_at,
        "counts": queue.held.counts,
        "bytes": queue.held.bytes,
    }


def _queue_limits_schema() -> Schema:
    whole = {
        name: nullable({"type": "integer", "minimum": 0, "maximum": most})
        for name, most in _WHOLE_MAX.items()
    }
    rate = nullable({"type": "number", "minimum": _RATE_MIN, "maximum": _RATE_MAX})
    return {
        "type": "object",
        "additionalProperties": False,
        "description": "What is left out or null is no limit",
        "properties": {**whole, **dict.fromkeys(_RATES, rate)},
    }


def routes(parts: ApiParts) -> list[Route]:
    queues = Queues(parts)
    noun = Noun(word="queue", key="name", key_schema=NAME_SCHEMA, confined_by="queue")
    limits = _queue_limits_schema()

    async def stats(_request: Call, _query: dict[str, Any]) -> ASGIApp:
        counted = await read_counters(parts.database)
        total = add_up(counted)
        return json_reply(
            {
                "totals": total.counts,
                "bytes": total.bytes,
                "queues": {name: counted[name].counts for name in sorted(counted)},
            }
        )

    return [
        noun.index(queues.index, "List queues by name", QUEUES),
        noun.get(queues.get, "Read a queue"),
        noun.put(queues.put, "Set the limits of a queue, which is made if need be", limits),
        noun.verb("pause", queues.pause, "Start nothing more of a queue"),
        noun.verb("resume", queues.resume, "Go on with a queue"),
        Route(
            method="GET",
            path="/v1/stats",
            needs="queues:read",
            handle=stats,
            summary="Jobs by state and queue, from counters",
            tag="System",
            answers={200: Answer(description="The counts", schema=ref("Stats"))},
        ),
    ]


SCHEMAS: Final[Named] = {
    "Queue": record(
        name=TEXT,
        max_jobs=nullable(COUNT),
        max_bytes=nullable(COUNT),
        max_running=nullable(COUNT),
        rate=nullable({"type": "number"}),
        submit_rate=nullable({"type": "number"}),
        is_paused={"type": "boolean"},
        paused_at=nullable(INSTANT),
        created_at=INSTANT,
        counts=ref("Counts"),
        bytes=COUNT,
    ),
    "Stats": record(
        totals=ref("Counts"),
        bytes=COUNT,
        queues={"type": "object", "additionalProperties": ref("Counts")},
    ),
}
