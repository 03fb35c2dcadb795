"""Paging: lists that turn their pages by themselves, cursor by cursor."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Mapping
from typing import Any, Generic, TypeVar

from windlass.sdk.http.api_object import ApiObject
from windlass.sdk.http.exchange import Exchange
from windlass.sdk.http.wire import path_with
from windlass.sdk.limits import PAGE_THINGS

Thing = dict[str, Any]
Obj = TypeVar("Obj", bound=ApiObject)


class Pages(Generic[Obj]):
    """The things of one list, a page at a time as they are asked for.

    `async for thing in pages`, or all at once: `await pages`. It is read once, from its beginning
    to its end; what happens to the list meanwhile may be seen or not, and nothing is seen twice.
    """

    def __init__(
        self,
        exchange: Exchange,
        kind: type[Obj],  # of the things
        path: str,
        query: Mapping[str, object] | None = None,
        limit: int | None = None,  # so many things at most; None: all there are
    ) -> None:
        self._exchange, self._kind = exchange, kind
        self._path, self._query = path, dict(query or {})
        self._left = limit
        self._cursor: str | None = None
        self.is_over = limit is not None and limit <= 0

    async def next_page(self) -> list[Obj]:
        """Read the next things; none when `is_over`."""
        if self.is_over:
            return []
        size = PAGE_THINGS if self._left is None else min(self._left, PAGE_THINGS)
        asked = {**self._query, "limit": size, "cursor": self._cursor}
        page = await self._exchange.get(path_with(self._path, asked))
        things = [self._kind(one) for one in page["data"]]
        self._cursor = page["next_cursor"]
        if self._left is not None:
            self._left -= len(things)
        self.is_over = self._cursor is None or self._left == 0
        return things

    async def all(self) -> list[Obj]:
        """Read all of them into a list."""
        return [thing async for thing in self]

    def __await__(self) -> Generator[Any, None, list[Obj]]:
        """`await pages` is all of them."""
        return self.all().__await__()

    async def __aiter__(self) -> AsyncIterator[Obj]:
        while not self.is_over:
            for thing in await self.next_page():
                yield thing
