"""The history of one job: its attempts, its events, its task's log, and why it is where it is.

`event_view` shows an event wherever the API does: here, of executions, in /v1/events, in streams.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http import shapes as schemas
from windlass.api.http.paging import LOG, page_of_whole, page_reply, whole_params
from windlass.api.http.query import created_params, id_schema, limit_param
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.jobs.jobs import job_id_of
from windlass.api.jobs.view import raw, shown
from windlass.api.parts import ApiParts
from windlass.engine.jobs.history import read_events_of
from windlass.engine.jobs.read import AttemptRecord, read_attempts
from windlass.engine.jobs.task_log import read_log
from windlass.engine.jobs.why import explain
from windlass.errors import NotFound
from windlass.limits import PAGE_DEFAULT
from windlass.model.job.event import Event
from windlass.store.database import Database, Record


class History:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def attempts(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        tried = await read_attempts(self._database, job_id_of(request))
        views = [_attempt_view(attempt) for attempt in tried]
        return page_of_whole(views, query)

    async def events(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        job_id = job_id_of(request)
        found = (await read_events_of(self._database, [job_id])).get(job_id)
        if found is None:
            raise NotFound("job", ids.show("job", job_id))
        row, events = found
        name = row["task"] or row["target"] or row["kind"]
        views = [event_view(event, row["queue"], row["execution_id"], name) for event in events]
        return page_of_whole(views, query)

    async def logs(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.get("limit", PAGE_DEFAULT)
        rows = await read_log(
            self._database,
            job_id_of(request),
            limit,
            query.get("cursor"),
            after=query.get("created_after"),
            before=query.get("created_before"),
        )
        more = len(rows) == limit
        cursor = LOG.show(f"{rows[-1]['attempt']}_{rows[-1]['place']}") if more else None
        return page_reply([_line_view(row) for row in rows], cursor)

    async def why(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        job_id = job_id_of(request)
        why = await explain(self._database, job_id)
        return json_reply(
            {
                "job_id": ids.show("job", job_id),
                "state": why.state,
                "summary": why.summary,
                "gates": why.gates,
                "estimated_start": why.estimated_start,
            }
        )


def _attempt_view(tried: AttemptRecord) -> dict[str, Any]:
    took = None if tried.ended_at is None else tried.ended_at - tried.started_at
    return {
        "attempt": tried.attempt,
        "node_id": shown("node", tried.node_id),
        "started_at": tried.started_at,
        "ended_at": tried.ended_at,
        "duration_ms": None if took is None else round(took.total_seconds() * 1000, 3),
        "outcome": tried.outcome,
        "next_run_at": tried.next_run_at,
        "error": raw(tried.error),
        "detail": raw(tried.detail),
    }


def _line_view(row: Record) -> dict[str, Any]:
    return {
        "attempt": row["attempt"],
        "at": row["at"],
        "level": row["level"],
        "message": row["message"],
        "fields": raw(row["fields"]) or {},
    }


def event_view(
    event: Event,
    queue: str | None = None,
    execution_id: UUID | None = None,
    name: str | None = None,
) -> dict[str, Any]:
    """The rest is of its job, where the event does not say it itself."""
    execution_id = event.execution_id or execution_id
    data = event.data
    if isinstance(data.get("node_id"), str):
        data = {**data, "node_id": ids.show("node", UUID(data["node_id"]))}
    subject = event.subject
    if event.noun in ("job", "node", "execution"):
        subject = ids.PREFIXES[event.noun] + subject
    return {
        "id": event.id,
        "at": event.at,
        "type": event.type,
        "noun": event.noun,
        "subject": subject,
        "job_id": ids.show("job", event.job_id) if event.job_id else None,
        "execution_id": ids.show("execution", execution_id) if execution_id else None,
        "queue": event.queue or queue,
        "name": event.name or name,
        "data": data,
    }


def routes(parts: ApiParts) -> list[Route]:
    history = History(parts.database)
    return [
        Route(
            method="GET",
            path="/v1/jobs/{job_id:str}/" + word,
            needs="jobs:read",
            confined_by="job",
            handle=handle,
            summary=summary,
            tag="Jobs",
            query=query,
            path_schemas={"job_id": id_schema("job")},
            answers={200: Answer(description=summary, schema=schema)},
            problems=(404,),
        )
        for word, handle, summary, schema, query in (
            (
                "attempts",
                history.attempts,
                "The attempts of a job",
                schemas.page_of("Attempt"),
                whole_params(),
            ),
            (
                "events",
                history.events,
                "What happened to a job",
                schemas.page_of("Event"),
                whole_params(),
            ),
            (
                "logs",
                history.logs,
                "What a task has logged",
                schemas.page_of("LogLine"),
                (*created_params("Lines", "written"), limit_param(), LOG.param()),
            ),
            ("why", history.why, "What holds a job back", schemas.ref("Why"), ()),
        )
    ]
