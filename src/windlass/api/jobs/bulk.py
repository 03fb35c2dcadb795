"""/v1/jobs/bulk: one verb on all jobs that match a filter: looked at first, paced, aborted.

The filter is that of the list of jobs, read by the same parameters. An empty one is refused unless
`all` says that it is meant: nobody cancels everything by a slip of the hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http import shapes as schemas
from windlass.api.http.body import Readers, read_json, take_fields
from windlass.api.http.caller import caller_of
from windlass.api.http.paging import OPERATIONS, page_reply
from windlass.api.http.query import (
    Param,
    choices_param,
    id_schema,
    limit_param,
    text_param,
)
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.jobs.jobs import JOB_FILTERS, STATE
from windlass.api.parts import ApiParts
from windlass.engine.jobs import bulk as engine
from windlass.engine.jobs.bulk import BulkPreview, BulkRequest, check_request, filter_from
from windlass.engine.jobs.read import JobFilter
from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import (
    BULK_GROUPS_MAX,
    BULK_LEFT_SHOWN_MAX,
    BULK_LOOK_MAX,
    BULK_MOST_MAX,
    BULK_RATE_MAX,
    BULK_RATE_MIN,
    BULK_SAMPLES_MAX,
    KEY_CHARS_MAX,
    PAGE_DEFAULT,
)
from windlass.model.job.bulk import BULK_PHASES, VERBS, BulkOperation
from windlass.model.job.states import STATES
from windlass.model.json.pointer import step
from windlass.model.json.whole import read_whole
from windlass.model.workflow.fields import likely

_SMALL_BYTES: Final = 64 * 1024
# Of a dead letter's cause, as /v1/dead-letters has it.
_CAUSE: Final = text_param("cause", "Jobs that ended with this cause", KEY_CHARS_MAX)
FILTER: Final[tuple[Param, ...]] = (*JOB_FILTERS, _CAUSE)
_ENDED_ONLY: Final = ("cause", "finished_after", "finished_before")
_BY_NAME: Final = {param.name: param for param in FILTER}


class Bulk:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database

    async def ask(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        wanted, is_dry_run = read_bulk_body(await read_json(request, _SMALL_BYTES), request)
        return await answer_bulk(self._parts, wanted, is_dry_run=is_dry_run)

    async def index(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.get("limit", PAGE_DEFAULT)
        found = await engine.list_bulk(
            self._database,
            limit,
            query.get("cursor"),
            verbs=query.get("verb"),
            phases=query.get("phase"),
        )
        cursor = OPERATIONS.show(found[-1].id.hex) if len(found) == limit else None
        return page_reply([bulk_view(operation) for operation in found], cursor)


async def answer_bulk(parts: ApiParts, wanted: BulkRequest, *, is_dry_run: bool) -> ASGIApp:
    """What it would touch, or the operation that it is now."""
    if is_dry_run:
        return json_reply(preview_view(wanted, await engine.preview(parts.database, wanted)))
    operation = await engine.ask(parts.database, wanted)
    parts.announcer.bulk()
    return json_reply(bulk_view(operation), 202)


# -- what is asked ---------------------------------------------------------------------------------


def read_bulk_body(value: object, request: Call) -> tuple[BulkRequest, bool]:
    """The request, and whether it is a dry run. Raises InvalidInput with every mistake."""
    if not isinstance(value, Mapping):
        raise InvalidInput.at("", 'must be {"verb": "cancel", "filter": {"queue": "mail"}}')
    problems = _unknown(value, _READERS, "")
    known = {name: found for name, found in value.items() if name in _READERS}
    given = take_fields(known, _READERS, problems)
    if value.get("verb") is None:
        problems.append(
            FieldProblem(pointer="/verb", detail=f"say what is to be done: {' '.join(VERBS)}")
        )
    if problems:
        raise InvalidInput(*problems)
    which = JobFilter(**given.get("filter", {}))
    _check_meant(which, is_all=given.get("all", False))
    verb = given["verb"]
    wanted = BulkRequest(
        verb=verb,
        which=check_request(verb, which),
        most=given.get("most"),
        rate=given.get("rate"),
        asked_by=caller_of(request.scope).owner,
    )
    return wanted, given.get("dry_run", False)


def _check_meant(which: JobFilter, *, is_all: bool) -> None:
    is_empty = which == JobFilter()
    if is_empty and not is_all:
        raise InvalidInput.at(
            "/filter", 'is empty, which would be every job; say which, or "all": true if so meant'
        )
    if is_all and not is_empty:
        raise InvalidInput.at("/all", "is for no filter at all; leave it out, or the filter")


def read_filter(value: object) -> dict[str, Any]:
    """The fields of a JobFilter. Raises InvalidInput with every mistake."""
    if not isinstance(value, Mapping):
        raise InvalidInput.at("", 'must be an object such as {"queue": "mail"}')
    problems = _unknown(value, _BY_NAME, "")
    given: dict[str, Any] = {}
    for name, found in value.items():
        if (param := _BY_NAME.get(name)) is not None:
            try:
                given["states" if param is STATE else name] = _read(param, found)
            except ValueError as trouble:
                problems.append(FieldProblem(pointer=f"/{name}", detail=str(trouble)))
    if problems:
        raise InvalidInput(*problems)
    return given


def _read(param: Param, value: object) -> Any:
    """As the list reads it out of a query."""
    if param.is_list:
        if not isinstance(value, list) or not 1 <= len(value) <= len(STATES):
            raise ValueError(f"must be a list of one or more of: {' '.join(STATES)}")
        if odd := [one for one in value if one not in STATES]:
            raise ValueError(f"{str(odd[0])[:60]!r} is not one of: {' '.join(STATES)}")
        return tuple(dict.fromkeys(value))
    if not isinstance(value, str):
        raise ValueError("must be a text")
    return param.read(value)


def _unknown(value: Mapping[str, Any], known: Mapping[str, Any], at: str) -> list[FieldProblem]:
    return [
        FieldProblem(
            pointer=at + step(name[:60]),
            detail=f"unknown field{likely(name, known)}; known are {' '.join(known)}",
        )
        for name in value
        if name not in known
    ]


def read_rate(value: object) -> float:
    """Jobs a second."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not BULK_RATE_MIN <= value <= BULK_RATE_MAX:  # type: ignore[operator]
        raise ValueError(f"must be jobs a second, from {BULK_RATE_MIN:g} to {BULK_RATE_MAX:,.0f}")
    return float(value)  # type: ignore[arg-type]


def read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _read_verb(value: object) -> str:
    if not isinstance(value, str) or value not in VERBS:
        hint = likely(value, VERBS) if isinstance(value, str) else ""
        raise ValueError(f"must be one of: {' '.join(VERBS)}{hint}")
    return value


_READERS: Final[Readers] = {
    "verb": _read_verb,
    "filter": read_filter,
    "all": read_flag,
    "dry_run": read_flag,
    "rate": read_rate,
    "most": lambda value: read_whole(value, BULK_MOST_MAX),
}


# -- what is answered ------------------------------------------------------------------------------


def bulk_view(operation: BulkOperation) -> dict[str, Any]:
    return {
        "id": ids.show("operation", operation.id),
        "kind": "bulk",
        "verb": operation.verb,
        "phase": operation.phase,
        "filter": filter_view(filter_from(operation.filter)),
        "named": operation.named,
        "matching": operation.matching,
        "is_exact": operation.is_exact,
        "most": operation.most,
        "rate": operation.rate,
        "looked": operation.looked,
        "done": operation.done,
        "refused": operation.refused,
        "gone": operation.gone,
        "held": operation.held,
        "left_jobs": operation.left_jobs,
        "reason": operation.reason,
        "asked_by": operation.asked_by,
        "created_at": operation.asked_at,
        "changed_at": operation.changed_at,
        "ended_at": operation.ended_at,
    }


def filter_view(which: JobFilter) -> dict[str, Any]:
    """As a caller would write it."""
    given = {name: value for name, value in asdict(which).items() if value not in (None, ())}
    shown = {("state" if name == "states" else name): value for name, value in given.items()}
    return {
        name: ids.show("execution", value)
        if isinstance(value, UUID)
        else list(value)
        if isinstance(value, tuple)
        else value
        for name, value in shown.items()
    }


def preview_view(wanted: BulkRequest, found: BulkPreview) -> dict[str, Any]:
    count = min(found.matching, wanted.most or math.inf)
    columns = ("state", "queue", "kind", "task", "cause", "count")
    return {
        "dry_run": True,
        "verb": wanted.verb,
        "matching": found.matching,
        "is_exact": found.is_exact,
        "estimated_seconds": None if wanted.rate is None else round(count / wanted.rate, 3),
        "groups": [{name: row[name] for name in columns} for row in found.groups],
        "sample_ids": [ids.show("job", one) for one in found.samples],
    }


_VERB: Final[schemas.Schema] = {"type": "string", "enum": list(VERBS)}
_PHASE: Final[schemas.Schema] = {"type": "string", "enum": list(BULK_PHASES)}
_LEFT: Final = schemas.record(id=id_schema("job"), reason=schemas.TEXT)
_NUMBER: Final[schemas.Schema] = {"type": "number"}
RATE_SCHEMA: Final[schemas.Schema] = {
    "type": "number",
    "minimum": BULK_RATE_MIN,
    "maximum": BULK_RATE_MAX,
}

SCHEMAS: Final[schemas.Named] = {
    "BulkOperation": schemas.record(
        id=id_schema("operation"),
        kind={"type": "string", "enum": ["bulk"]},
        verb=_VERB,
        phase=_PHASE,
        filter=schemas.ANY_OBJECT,
        named=schemas.nullable(schemas.COUNT),
        matching=schemas.COUNT,
        is_exact={"type": "boolean"},
        most=schemas.nullable(schemas.COUNT),
        rate=schemas.nullable(_NUMBER),
        looked=schemas.COUNT,
        done=schemas.COUNT,
        refused=schemas.COUNT,
        gone=schemas.COUNT,
        held=schemas.COUNT,
        left_jobs=schemas.listed(_LEFT),
        reason=schemas.nullable(schemas.TEXT),
        asked_by=schemas.nullable(schemas.TEXT),
        created_at=schemas.INSTANT,
        changed_at=schemas.INSTANT,
        ended_at=schemas.nullable(schemas.INSTANT),
    ),
    "BulkGroup": schemas.record(
        state=schemas.STATE,
        queue=schemas.TEXT,
        kind=schemas.TEXT,
        task=schemas.nullable(schemas.TEXT),
        cause=schemas.nullable(schemas.TEXT),
        count=schemas.COUNT,
    ),
    "BulkPreview": schemas.record(
        dry_run={"type": "boolean"},
        verb=_VERB,
        matching=schemas.COUNT,
        is_exact={"type": "boolean"},
        estimated_seconds=schemas.nullable(_NUMBER),
        groups=schemas.listed(schemas.ref("BulkGroup")),
        sample_ids=schemas.listed(id_schema("job")),
    ),
}


def _body_schema() -> schemas.Schema:
    """Of each verb: with its filter, or for all."""
    options = {
        "dry_run": schemas.nullable({"type": "boolean"}),
        "rate": schemas.nullable(RATE_SCHEMA),
        "most": schemas.nullable({"type": "integer", "minimum": 1, "maximum": BULK_MOST_MAX}),
    }
    ways: list[schemas.Schema] = []
    for verb, rule in VERBS.items():
        fields = {
            param.name: param.schema
            for param in FILTER
            if rule.is_of_ended or param.name not in _ENDED_ONLY
        }
        fields["state"] = {
            "type": "array",
            "items": {"type": "string", "enum": list(rule.states)},
            "minItems": 1,
            "maxItems": len(STATES),
        }
        which: schemas.Schema = {
            "type": "object",
            "additionalProperties": False,
            "minProperties": 1,
            "properties": fields,
        }
        named = {"verb": {"type": "string", "enum": [verb]}}
        if rule.asks_state:
            which["required"] = ["state"]
        else:
            ways.append(_way(named | options, all={"type": "boolean", "enum": [True]}))
        ways.append(_way(named | options, filter=which))
    return {"oneOf": ways}


def _way(fields: schemas.Named, **needed: schemas.Schema) -> schemas.Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["verb", *needed],
        "properties": {**fields, **needed},
    }


def routes(parts: ApiParts) -> list[Route]:
    bulk = Bulk(parts)
    return [
        Route(
            method="POST",
            path="/v1/jobs/bulk",
            needs="jobs:control",
            handle=bulk.ask,
            summary="Do something with all jobs that match a filter",
            tag="Jobs",
            description="The filter is that of `GET /v1/jobs`. With `dry_run` the answer says how "
            f"many match, of what, in the {BULK_GROUPS_MAX} largest groups, and names "
            f"{BULK_SAMPLES_MAX}: exactly if there are fewer than {BULK_LOOK_MAX:,} jobs to look "
            "at, else it is at least so many (`is_exact`). Without it an operation is begun, which "
            "any node goes on with; see `GET /v1/operations/{operation_id}`. Jobs that were made, "
            "or have ended, after it was asked are left alone. `rate` is jobs a second, `most` "
            "ends it after so many. Without a filter it is refused unless `all` is true.",
            body=_body_schema(),
            matters_twice=True,
            answers={
                200: Answer(description="A dry run", schema=schemas.ref("BulkPreview")),
                202: Answer(description="It is asked for", schema=schemas.ref("BulkOperation")),
            },
            problems=(400, 413, 415, 429),
        ),
        Route(
            method="GET",
            path="/v1/jobs/bulk",
            needs="jobs:read",
            handle=bulk.index,
            summary="List bulk operations, newest first",
            tag="Jobs",
            description="They are kept for a week after their end. `left_jobs` names the first "
            f"{BULK_LEFT_SHOWN_MAX} that were refused.",
            query=(
                limit_param(),
                OPERATIONS.param(),
                choices_param("verb", list(VERBS), "Those with one of these verbs"),
                choices_param("phase", BULK_PHASES, "Those in any of these phases"),
            ),
            answers={
                200: Answer(description="A page", schema=schemas.page_of("BulkOperation")),
            },
        ),
    ]
