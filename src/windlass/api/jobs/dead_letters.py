"""/v1/dead-letters: seen, grouped by cause, replayed and discarded, one or a hundred thousand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any, Final, cast
from uuid import UUID

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http import shapes as schemas
from windlass.api.http.body import Readers, read_json, take_fields
from windlass.api.http.caller import caller_of
from windlass.api.http.host import HOST_SCHEMA, read_host
from windlass.api.http.paging import DEAD_LETTERS, page_of_whole, whole_params
from windlass.api.http.query import (
    finished_params,
    id_schema,
    limit_param,
    read_short_text,
    say_instead,
    short_text_schema,
    text_param,
)
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.jobs.bulk import RATE_SCHEMA, answer_bulk, read_flag, read_rate
from windlass.api.jobs.jobs import FILTERS, executions_of, jobs_page, read_ids
from windlass.api.parts import ApiParts
from windlass.engine.executions.replay_steps import SeenEnd
from windlass.engine.jobs.bulk import BulkRequest
from windlass.engine.jobs.history import database_now
from windlass.engine.jobs.read import JobFilter, list_jobs, read_jobs
from windlass.engine.jobs.replay import (
    SELECT_MAX,
    DeadFilter,
    delete,
    group_dead,
    replay,
    select_dead,
)
from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import BATCH_JOBS_MAX, KEY_CHARS_MAX, PAGE_DEFAULT, TAG_CHARS_MAX
from windlass.model.job.bulk import BulkVerb
from windlass.model.job.submission import read_instant, read_name
from windlass.model.json.value_schema import INSTANT_SCHEMA, NAME_SCHEMA
from windlass.store.database import Record

CAUSE_CHARS_MAX: Final = KEY_CHARS_MAX
# Of those that were left an answer names so many.
LEFT_SHOWN_MAX: Final = 100
_READERS: Final[dict[str, Callable[[object], Any]]] = {
    "queue": read_name,
    "kind": read_name,
    "task": lambda value: read_short_text(value, KEY_CHARS_MAX),
    "cause": lambda value: read_short_text(value, CAUSE_CHARS_MAX),
    "tag": lambda value: read_short_text(value, TAG_CHARS_MAX),
    "finished_after": read_instant,
    "finished_before": read_instant,
    "target": read_host,
}


_HOW: Final[Readers] = {"dry_run": read_flag, "rate": read_rate}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    ids: list[UUID]
    seen: SeenEnd  # their ends
    more: bool = False  # True: a filter matches more than one call takes; ask again
    left: dict[UUID, str] = field(default_factory=dict)  # asked for and not touched: why


class DeadLetters:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database

    async def index(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        limit, before = query.pop("limit", PAGE_DEFAULT), query.pop("cursor", None)
        which = JobFilter(states=("dead",), **query)
        rows = await list_jobs(self._database, which, limit, before)
        return jobs_page(rows, limit, cursors=DEAD_LETTERS)

    async def groups(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        rows = await group_dead(self._database)
        shown = [{**row, "sample_id": ids.show("job", row["sample_id"])} for row in rows]
        return page_of_whole(shown, query)

    async def replay(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        asked = read_asked(await read_json(request))
        if asked.is_bulk:
            return await self._bulk("replay", asked, request)
        chosen = await self._chosen(asked.which)
        moved = await replay(
            *(self._database, chosen.ids),
            seen=chosen.seen,
            left=chosen.left,
            about=_about(asked.which),
        )
        self._parts.announcer.rows(moved)
        self._parts.announcer.marks(executions_of(moved), is_urgent=True)
        return json_reply(_told("replayed", chosen, moved))

    async def discard(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        asked = read_asked(await read_json(request))
        if asked.is_bulk:
            return await self._bulk("discard", asked, request)
        chosen = await self._chosen(asked.which)
        about = _about(asked.which)
        gone = await delete(self._database, chosen.ids, seen=chosen.seen, about=about)
        return json_reply(_told("discarded", chosen, gone))

    async def _bulk(self, verb: BulkVerb, asked: Asked, request: Call) -> ASGIApp:
        """What it would do, or an operation that does it at its rate."""
        is_filter = isinstance(asked.which, DeadFilter)
        given = asdict(asked.which) if isinstance(asked.which, DeadFilter) else {}
        wanted = BulkRequest(
            verb=verb,
            which=JobFilter(states=("dead",), **given),
            job_ids=None if is_filter else cast("list[UUID]", asked.which),
            rate=asked.rate,
            asked_by=caller_of(request.scope).owner,
        )
        return await answer_bulk(self._parts, wanted, is_dry_run=asked.is_dry_run)

    async def _chosen(self, asked: list[UUID] | DeadFilter) -> Selection:
        """The dead among those asked for: what ended otherwise is not touched from here."""
        seen = SeenEnd(state="dead", by=await database_now(self._database))
        if isinstance(asked, DeadFilter):
            found = await select_dead(self._database, asked, SELECT_MAX + 1)
            return Selection(ids=found[:SELECT_MAX], seen=seen, more=len(found) > SELECT_MAX)
        states = {row["id"]: row["state"] for row in await read_jobs(self._database, asked)}
        return Selection(
            ids=[one for one in asked if states.get(one) == "dead"],
            seen=seen,
            left={
                one: f"it is {states[one]}, and no dead letter"
                if one in states
                else "there is no such job, or not any more"
                for one in asked
                if states.get(one) != "dead"
            },
        )


def _about(which: list[UUID] | DeadFilter) -> dict[str, Any] | None:
    """How they were chosen, for the audit log."""
    if not isinstance(which, DeadFilter):
        return None
    given = {name: value for name, value in asdict(which).items() if value is not None}
    return {"filter": given}


def _told(done: str, chosen: Selection, rows: Sequence[Record]) -> dict[str, Any]:
    """How many, and what of those asked for was left, as far as an answer holds it."""
    gone = {row["id"] for row in rows}
    left = chosen.left | {
        one: "somebody else was first: it is no dead letter any more"
        for one in chosen.ids
        if one not in gone and one not in chosen.left
    }
    shown = [
        {"id": ids.show("job", one), "reason": why}
        for one, why in islice(left.items(), LEFT_SHOWN_MAX)
    ]
    return {done: len(rows), "more": chosen.more, "left": len(left), "left_jobs": shown}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a caller wants replayed or discarded, and how."""

    which: list[UUID] | DeadFilter
    is_dry_run: bool = False
    rate: float | None = None  # jobs a second; None: now, within this call

    @property
    def is_bulk(self) -> bool:
        return self.is_dry_run or self.rate is not None


def read_asked(value: object) -> Asked:
    """Raises InvalidInput."""
    if not isinstance(value, dict):
        return Asked(which=read_choice(value))
    how = {name: found for name, found in value.items() if name in _HOW}
    problems: list[FieldProblem] = []
    given = take_fields(how, _HOW, problems)
    if problems:
        raise InvalidInput(*problems)
    return Asked(
        which=read_choice({name: found for name, found in value.items() if name not in _HOW}),
        is_dry_run=given.get("dry_run", False),
        rate=given.get("rate"),
    )


def read_choice(value: object) -> list[UUID] | DeadFilter:
    """`{"ids": […]}` or `{"filter": {…}}`. Raises InvalidInput."""
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in ("ids", "filter"):
        raise InvalidInput.at("", 'must be {"ids": ["job_…"]} or {"filter": {"queue": "…"}}')
    return (
        read_ids(value["ids"], BATCH_JOBS_MAX) if "ids" in value else _read_filter(value["filter"])
    )


def _read_filter(value: object) -> DeadFilter:
    if not isinstance(value, dict):
        raise InvalidInput.at("/filter", "must be an object; {} means every dead letter")
    given: dict[str, Any] = {}
    problems = []
    for name, found in value.items():
        try:
            given[name] = _read_named(name, found)
        except ValueError as trouble:
            problems.append(FieldProblem(pointer=f"/filter/{name[:60]}", detail=str(trouble)))
    if problems:
        raise InvalidInput(*problems)
    return DeadFilter(**given)


def _read_named(name: str, value: object) -> Any:
    reader = _READERS.get(name)
    if reader is None:
        known = f"known are {' '.join(_READERS)}"
        raise ValueError(f"unknown field; {say_instead(name, _READERS)}{known}")
    return None if value is None else reader(value)


def _choice_schema() -> schemas.Schema:
    told = {
        "queue": NAME_SCHEMA,
        "kind": NAME_SCHEMA,
        "task": short_text_schema(KEY_CHARS_MAX),
        "cause": short_text_schema(CAUSE_CHARS_MAX),
        "tag": short_text_schema(TAG_CHARS_MAX),
        "finished_after": INSTANT_SCHEMA,
        "finished_before": INSTANT_SCHEMA,
        "target": HOST_SCHEMA,
    }
    named = {
        "type": "array",
        "items": id_schema("job"),
        "minItems": 1,
        "maxItems": BATCH_JOBS_MAX,
    }
    which = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: schemas.nullable(schema) for name, schema in told.items()},
    }
    return {
        "oneOf": [
            {
                "type": "object",
                "additionalProperties": False,
                "required": [name],
                "properties": {
                    name: schema,
                    "dry_run": schemas.nullable({"type": "boolean"}),
                    "rate": schemas.nullable(RATE_SCHEMA),
                },
            }
            for name, schema in (("ids", named), ("filter", which))
        ]
    }


def _told_schema(word: str) -> schemas.Schema:
    left = schemas.record(id=id_schema("job"), reason=schemas.TEXT)
    return schemas.record(
        **{
            word: schemas.COUNT,
            "more": {"type": "boolean"},
            "left": schemas.COUNT,
            "left_jobs": schemas.listed(left),
        }
    )


def routes(parts: ApiParts) -> list[Route]:
    dead = DeadLetters(parts)
    listed = Route(
        method="GET",
        path="/v1/dead-letters",
        needs="jobs:read",
        handle=dead.index,
        summary="List dead letters, newest first",
        tag="Dead letters",
        query=(
            *FILTERS,
            text_param("cause", "Those with this cause"),
            *finished_params("Those"),
            limit_param(),
            DEAD_LETTERS.param(),
        ),
        answers={200: Answer(description="A page of jobs", schema=schemas.page_of("Job"))},
    )
    grouped = Route(
        method="GET",
        path="/v1/dead-letters/groups",
        needs="jobs:read",
        handle=dead.groups,
        summary="Dead letters by queue, kind and cause",
        tag="Dead letters",
        query=whole_params(),
        answers={200: Answer(description="The groups", schema=schemas.page_of("DeadGroup"))},
    )
    verbs = [
        Route(
            method="POST",
            path=f"/v1/dead-letters/{verb}",
            needs="jobs:control",
            handle=handle,
            summary=summary,
            tag="Dead letters",
            description=f"A filter takes {SELECT_MAX:,} at a time; `more` says that some remain. "
            "`left` counts those that were asked for, or matched, and stay as they are; "
            f"`left_jobs` says why, of the first {LEFT_SHOWN_MAX}. With `dry_run` nothing is done "
            "and the answer says what would be. With `rate`, jobs a second, it is an operation "
            "that goes on by itself, over all that match.",
            body=_choice_schema(),
            matters_twice=verb == "replay",
            answers={
                200: Answer(
                    description="How many; or, of a dry run, how many it would be",
                    schema={"anyOf": [_told_schema(word), schemas.ref("BulkPreview")]},
                ),
                202: Answer(
                    description="With `rate`: it is asked for",
                    schema=schemas.ref("BulkOperation"),
                ),
            },
            problems=(400, 413, 415, 429),
        )
        for verb, handle, summary, word in (
            ("replay", dead.replay, "Queue dead letters again", "replayed"),
            ("discard", dead.discard, "Forget dead letters", "discarded"),
        )
    ]
    return [listed, grouped, *verbs]
