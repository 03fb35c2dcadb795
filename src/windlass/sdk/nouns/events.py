"""Events: what happened, and what happens now."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import ClassVar, TypedDict, Unpack

from windlass.sdk.http.paging import Pages
from windlass.sdk.http.stream import follow
from windlass.sdk.nouns.noun import Instant, Many, Noun
from windlass.sdk.objects.jobs import Event


class StreamFilter(TypedDict, total=False):
    """Which events are wanted."""

    queue: str
    job_id: str
    execution_id: str
    noun: Many
    type: str


class EventFilter(StreamFilter, total=False):
    """Which events of the past are wanted, and how many."""

    created_after: Instant
    created_before: Instant
    limit: int


class Events(Noun):
    """What happened, and what happens now."""

    path: ClassVar[str] = "/v1/events"

    def list(self, **filters: Unpack[EventFilter]) -> Pages[Event]:
        """List what happened."""
        return self._pages(Event, filters)

    async def stream(
        self, after: str | None = None, **filters: Unpack[StreamFilter]
    ) -> AsyncGenerator[Event]:
        """Follow what happens, for as long as it is asked; behind the event `after`, or from now
        on.
        """
        async with aclosing(follow(self._exchange, dict(filters), after)) as events:
            async for event in events:
                yield Event(event)
