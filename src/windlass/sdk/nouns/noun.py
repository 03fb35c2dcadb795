"""What every noun has: the way to the server, and the paths below its own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from windlass.sdk.http.api_object import ApiObject
from windlass.sdk.http.exchange import Exchange
from windlass.sdk.http.paging import Pages, Thing
from windlass.sdk.http.wire import segment

Duration = float | str  # seconds, or "30s", "5m", "2h", "7d"
Instant = datetime | str  # RFC 3339
Many = str | list[str]
Obj = TypeVar("Obj", bound=ApiObject)


class Noun:
    """One noun of the API, and its verbs."""

    path: ClassVar[str]  # /v1/jobs

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def _one(self, name: str, *below: str) -> str:
        """The path of one of them, or of what is below it."""
        return "/".join((self.path, segment(name), *below))

    def _pages(
        self, kind: type[Obj], filters: Mapping[str, object], *, path: str | None = None
    ) -> Pages[Obj]:
        """`limit` is how many things are wanted at most, not the size of a page."""
        query = dict(filters)
        limit: Any = query.pop("limit", None)
        return Pages(self._exchange, kind, path or self.path, query, limit)

    async def _read(
        self, kind: type[Obj], path: str, query: Mapping[str, object] | None = None
    ) -> Obj:
        return kind(await self._exchange.get(path, query))

    async def _all(self, kind: type[Obj], path: str) -> list[Obj]:
        """Of a list that has no pages."""
        return [kind(one) for one in (await self._exchange.get(path))["data"]]

    async def _verb(self, kind: type[Obj], name: str, verb: str, body: object = None) -> Obj:
        return kind(await self._exchange.post(self._one(name, verb), body))


def given(**fields: object) -> Thing:
    """The fields that were given: None is what the server decides."""
    return {name: value for name, value in fields.items() if value is not None}
