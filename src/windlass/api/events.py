"""/v1/events: what happened, oldest first, and a stream of what happens now (SSE)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from starlette.types import ASGIApp

from windlass.api.http import shapes as schemas
from windlass.api.http.paging import EVENTS, event_cursor, page_reply
from windlass.api.http.query import (
    Param,
    choices_param,
    created_params,
    id_param,
    limit_param,
    name_param,
    type_param,
)
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.stream import RIGHT, EventFilter, EventStreams
from windlass.api.jobs.history import event_view
from windlass.api.jobs.schema import NOUNS
from windlass.api.parts import ApiParts
from windlass.engine.jobs.history import database_now, read_events_after
from windlass.limits import PAGE_DEFAULT
from windlass.model.job.event import POSITION_PATTERN, Event, SortKey

# Who names no beginning sees the last quarter of an hour.
LOOK_BACK: Final = timedelta(minutes=15)
# A page with a filter looks through so many pages of events; the cursor goes on from there.
PAGES_SEARCHED_MAX: Final = 20


FILTERS: Final[tuple[Param, ...]] = (
    name_param("queue", "Events of this queue and its jobs"),
    id_param("job_id", "job", "Events of this job"),
    id_param("execution_id", "execution", "Events of this execution and its jobs"),
    choices_param("noun", NOUNS, "Events of these: jobs, executions, queues…"),
    type_param(),
)


class Events:
    def __init__(self, parts: ApiParts) -> None:
        self._database = parts.database

    async def index(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.pop("limit", PAGE_DEFAULT)
        now = await database_now(self._database)
        last = now
        if "created_before" in query:
            last = min(now, query.pop("created_before") - timedelta.resolution)
        first = query.pop("created_after", last - LOOK_BACK)
        after = query.pop("cursor", None) or SortKey(first, UUID(int=0), 0, -1)
        wanted = EventFilter(**query)
        found: list[Event] = []
        batch: list[Event] = []
        for _ in range(PAGES_SEARCHED_MAX):
            batch = await read_events_after(self._database, after, last, limit)
            for event in batch:
                after = event.sort_key
                if wanted.takes(event):
                    found.append(event)
                if len(found) == limit:
                    break
            if len(found) == limit or len(batch) < limit:
                break
        more = len(found) == limit or len(batch) == limit
        cursor = event_cursor(after) if more else None
        return page_reply([event_view(event) for event in found], cursor)


def routes(parts: ApiParts, streams: EventStreams) -> list[Route]:
    events = Events(parts)
    return [
        Route(
            method="GET",
            path="/v1/events",
            needs=RIGHT,
            handle=events.index,
            summary="List what happened, oldest first",
            tag="Events",
            query=(
                *FILTERS,
                *created_params("Events", "that happened", "; unless said, the last 15 minutes"),
                limit_param(),
                EVENTS.param(),
            ),
            answers={200: Answer(description="A page of events", schema=schemas.page_of("Event"))},
        ),
        Route(
            method="GET",
            path="/v1/events/stream",
            needs=RIGHT,
            handle=streams.open,
            summary="Follow what happens",
            tag="Events",
            description=(
                "Server-sent events: `data` is the event as in the list, `id` a position: the id "
                "of the event, and from when on others may still appear. After a break send it as "
                "`Last-Event-ID`, to any node. A comment is sent every 15 seconds."
            ),
            query=FILTERS,
            headers={
                "Last-Event-ID": (
                    "Go on after this position, or after the event of this id",
                    {"type": "string", "pattern": f"^{POSITION_PATTERN}$"},
                )
            },
            answers={
                200: Answer(
                    description="A stream without end",
                    schema=schemas.TEXT,
                    media_type="text/event-stream",
                )
            },
        ),
    ]
