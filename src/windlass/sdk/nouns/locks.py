"""Locks: take, renew, give back. A token is larger than that of every hold before it."""

from __future__ import annotations

from typing import Any, ClassVar

from windlass.duration import parse_seconds
from windlass.sdk.http.paging import Pages
from windlass.sdk.nouns.noun import Duration, Noun, given
from windlass.sdk.objects.resources import LockHold, LockInfo, LockRenewed


class Locks(Noun):
    """Locks that so many may hold at once; `client.lock` keeps one for the length of a block."""

    path: ClassVar[str] = "/v1/locks"

    async def acquire(
        self,
        name: str,
        *,
        ttl: Duration | None = None,
        wait: Duration | None = None,
        capacity: int | None = None,
        key: str | None = None,
    ) -> LockHold:
        """Take a lock: its `token`, until `expires_at`. Raises LockHeld if it is not free then."""
        body = given(ttl=ttl, wait=wait, capacity=capacity)
        wait_seconds = parse_seconds(wait or 0)
        hold = await self._exchange.call(
            "POST", self._one(name), body, key=key, wait_seconds=wait_seconds
        )
        return LockHold(hold)

    async def renew(self, name: str, token: int, *, ttl: Duration | None = None) -> LockRenewed:
        """Hold it for longer. Raises LockLost: somebody else may be inside."""
        body = {"token": token, **given(ttl=ttl)}
        return LockRenewed(await self._exchange.put(self._one(name), body))

    async def release(self, name: str, token: int) -> None:
        """Give it back. Raises LockLost if that was done before, which does no harm."""
        await self._exchange.delete(self._one(name), {"token": token})

    async def resize(self, name: str, capacity: int, *, if_match: str | None = None) -> LockInfo:
        """Set how many may hold it at once."""
        body: dict[str, Any] = {"capacity": capacity}
        return LockInfo(await self._exchange.patch(self._one(name), body, if_match=if_match))

    async def get(self, name: str) -> LockInfo:
        """Read who holds it, and who waits for it."""
        return await self._read(LockInfo, self._one(name))

    def list(self, *, limit: int | None = None) -> Pages[LockInfo]:
        """List locks by name."""
        return self._pages(LockInfo, {"limit": limit})
