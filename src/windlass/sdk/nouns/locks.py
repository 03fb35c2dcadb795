"""Locks: take, renew, give back. A token is larger than that of every hold before it."""

from __future__ import annotations

from typing import Any, ClassVar

from windlass.duration import parse_seconds
from windlass.sdk.http.paging import Pages, Thing
from windlass.sdk.nouns.noun import Duration, Noun, given


class Locks(Noun):
    path: ClassVar[str] = "/v1/locks"

    async def acquire(
        self,
        name: str,
        *,
        ttl: Duration | None = None,
        wait: Duration | None = None,
        capacity: int | None = None,
        key: str | None = None,
    ) -> Thing:
        """`{"token": …, "expires_at": …}`. Raises LockHeld when it is not free in time."""
        body = given(ttl=ttl, wait=wait, capacity=capacity)
        wait_seconds = parse_seconds(wait or 0)
        hold: Thing = await self._exchange.call(
            "POST", self._one(name), body, key=key, wait_seconds=wait_seconds
        )
        return hold

    async def renew(self, name: str, token: int, *, ttl: Duration | None = None) -> Thing:
        """Raises LockLost: somebody else may be inside."""
        body = {"token": token, **given(ttl=ttl)}
        hold: Thing = await self._exchange.put(self._one(name), body)
        return hold

    async def release(self, name: str, token: int) -> None:
        """Twice does no harm."""
        await self._exchange.delete(self._one(name), {"token": token})

    async def resize(self, name: str, capacity: int, *, if_match: str | None = None) -> Thing:
        body: dict[str, Any] = {"capacity": capacity}
        lock: Thing = await self._exchange.patch(self._one(name), body, if_match=if_match)
        return lock

    async def get(self, name: str) -> Thing:
        return await self._read(self._one(name))

    def list(self, *, limit: int | None = None) -> Pages:
        """By name."""
        return self._pages({"limit": limit})
