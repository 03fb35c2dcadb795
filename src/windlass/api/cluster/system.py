"""/v1/system/sweep and /v1/strategies: clean up after dead coordinators in Redis; kinds of jobs.

A sweep removes what coordinators without a beat left there. The kinds are those that this node
performs, builtin and from plugins, with what each takes.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Final

from starlette.types import ASGIApp

from windlass.api.http.body import Readers, read_json, take_fields
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import (
    ANY_OBJECT,
    COUNT,
    TEXT,
    Named,
    duration,
    listed,
    nullable,
    record,
    ref,
)
from windlass.api.parts import ApiParts
from windlass.duration import parse_seconds
from windlass.engine.audit.record import record_alone
from windlass.engine.cluster.sweep_entry import sweep_entry
from windlass.errors import FieldProblem, InvalidInput, Unavailable
from windlass.limits import DURATION_SECONDS_MAX, STALE_BEATS_MIN
from windlass.strategies.input_schema import input_schemas
from windlass.strategies.plugins.description import Description

_FLAGS: Final = ("dry_run", "scan")


def read_sweep(value: object) -> tuple[float | None, dict[str, bool]]:
    """How long without a beat is dead (None: as set), and the flags. Raises InvalidInput."""
    if not isinstance(value, dict):
        raise InvalidInput.at("", "must be an object; {} sweeps as the settings say")
    problems: list[FieldProblem] = []
    given = take_fields(value, _READERS, problems, reads_null=True)
    if problems:
        raise InvalidInput(*problems)
    return given.get("stale_after"), {name: given.get(name, False) for name in _FLAGS}


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _stale_after(value: object) -> float | None:
    return None if value is None else parse_seconds(value)


_READERS: Final[Readers] = {"stale_after": _stale_after, **dict.fromkeys(_FLAGS, _flag)}


def routes(parts: ApiParts) -> list[Route]:
    async def sweep(request: Call, _query: dict[str, Any]) -> ASGIApp:
        stale_seconds, flags = read_sweep(await read_json(request))
        if parts.sweeper is None:
            raise Unavailable("there is no Redis to sweep; set WINDLASS_REDIS_URL")
        report = await parts.sweeper.sweep(
            stale_seconds, is_dry_run=flags["dry_run"], is_scan=flags["scan"]
        )
        if not report.dry_run:
            await record_alone(parts.database, sweep_entry(report))
        return json_reply(asdict(report))

    async def strategies(_request: Call, _query: dict[str, Any]) -> ASGIApp:
        return json_reply([_view(strategy) for strategy in parts.strategies()])

    stale_min = STALE_BEATS_MIN * parts.settings.heartbeat_seconds
    return [
        Route(
            method="POST",
            path="/v1/system/sweep",
            needs="cluster:control",
            handle=sweep,
            summary="Remove from Redis what dead coordinators left there",
            tag="System",
            body={
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "stale_after": nullable(duration(DURATION_SECONDS_MAX, stale_min)),
                    **{name: {"type": "boolean"} for name in _FLAGS},
                },
            },
            answers={200: Answer(description="What was done", schema=ref("Swept"))},
            problems=(400, 413, 415),
        ),
        Route(
            method="GET",
            path="/v1/strategies",
            needs="cluster:read",
            handle=strategies,
            summary="Which kinds of jobs this node performs",
            description="Those of plugins have `is_builtin: false`; one that could not be loaded "
            "says why in `error`. After a reload that failed, the code before it goes on.",
            tag="Nodes",
            answers={200: Answer(description="Every kind", schema=listed(ref("Strategy")))},
        ),
    ]


_INPUTS: Final = input_schemas(is_template=False)


def _view(strategy: Description) -> dict[str, Any]:
    """A builtin kind's input is described in the OpenAPI document, and here in the same words."""
    if strategy.is_builtin:
        strategy = replace(strategy, input_schema=_INPUTS.get(strategy.kind))
    return asdict(strategy)


_TASK: Final = record(
    task=TEXT,
    is_async={"type": "boolean"},
    is_isolated={"type": "boolean"},
    parameters=nullable(ANY_OBJECT),
    positional=listed(TEXT),
    takes_more={"type": "boolean"},
    result=nullable(ANY_OBJECT),
)

SCHEMAS: Final[Named] = {
    "Swept": record(
        checked=COUNT,
        stale=COUNT,
        removed_keys=COUNT,
        kept=COUNT,
        skipped=COUNT,
        ms={"type": "number"},
        per_second={"type": "number"},
        stale_ids=listed(TEXT),
        dry_run={"type": "boolean"},
        mode={"type": "string", "enum": ["scripted", "pipelined"]},
    ),
    "Strategy": record(
        kind=TEXT,
        is_builtin={"type": "boolean"},
        version=nullable(TEXT),
        input_schema=nullable(ANY_OBJECT),
        output_schema=nullable(ANY_OBJECT),
        error=nullable(TEXT),
        tasks=nullable(listed(_TASK)),
    ),
}
