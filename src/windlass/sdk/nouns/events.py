"""Events: what happened, and what happens now."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import ClassVar, TypedDict, Unpack

from windlass.sdk.http.paging import Pages, Thing
from windlass.sdk.http.stream import follow
from windlass.sdk.nouns.noun import Instant, Many, Noun


class StreamFilter(TypedDict, total=False):
    queue: str
    job_id: str
    execution_id: str
    noun: Many
    type: str


class EventFilter(StreamFilter, total=False):
    created_after: Instant
    created_before: Instant
    limit: int


class Events(Noun):
    path: ClassVar[str] = "/v1/events"

    def list(self, **filters: Unpack[EventFilter]) -> Pages:
        """What happened."""
        return self._pages(filters)

    def stream(
        self, after: str | None = None, **filters: Unpack[StreamFilter]
    ) -> AsyncGenerator[Thing]:
        """What happens, for as long as it is asked; behind the event `after`, or from now on."""
        return follow(self._exchange, dict(filters), after)
