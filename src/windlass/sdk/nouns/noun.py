"""What every noun has: the way to the server, and the paths below its own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from windlass.sdk.http.exchange import Exchange
from windlass.sdk.http.paging import Pages, Thing
from windlass.sdk.http.wire import segment

Duration = float | str  # seconds, or "30s", "5m", "2h", "7d"
Instant = datetime | str  # RFC 3339
Many = str | list[str]


class Noun:
    path: ClassVar[str]  # /v1/jobs

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def _one(self, name: str, *below: str) -> str:
        """The path of one of them, or of what is below it."""
        return "/".join((self.path, segment(name), *below))

    def _pages(self, filters: Mapping[str, object], *, path: str | None = None) -> Pages:
        """`limit` is how many things are wanted at most, not the size of a page."""
        query = dict(filters)
        limit: Any = query.pop("limit", None)
        return Pages(self._exchange, path or self.path, query, limit)

    async def _read(self, path: str, query: Mapping[str, object] | None = None) -> Thing:
        found: Thing = await self._exchange.get(path, query)
        return found

    async def _all(self, path: str) -> list[Thing]:
        """Of a list that has no pages."""
        found: list[Thing] = (await self._exchange.get(path))["data"]
        return found

    async def _verb(self, name: str, verb: str, body: object = None) -> Thing:
        done: Thing = await self._exchange.post(self._one(name, verb), body)
        return done


def given(**fields: object) -> Thing:
    """The fields that were given: None is what the server decides."""
    return {name: value for name, value in fields.items() if value is not None}
