"""Targets: the hosts that webhooks go to; their limits and breakers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypedDict, Unpack

from windlass.sdk.http.paging import Pages, Thing
from windlass.sdk.nouns.noun import Noun, given


class TargetLimits(TypedDict, total=False):
    """What is absent or None is the default."""

    rate: float | None  # deliveries a second
    max_running: int | None
    breaker: Mapping[str, Any] | None


class Targets(Noun):
    path: ClassVar[str] = "/v1/targets"

    async def get(self, host: str) -> Thing:
        return await self._read(self._one(host))

    def list(self, *, limit: int | None = None) -> Pages:
        """By name."""
        return self._pages({"limit": limit})

    async def put(
        self, host: str, *, if_match: str | None = None, **limits: Unpack[TargetLimits]
    ) -> Thing:
        """Its limits, all of them: those that are not given are the default again."""
        kept: Thing = await self._exchange.put(self._one(host), limits, if_match=if_match)
        return kept

    async def reset(self, host: str) -> Thing:
        """Close its breaker."""
        return await self._verb(host, "reset")

    async def enable(self, host: str) -> Thing:
        return await self._verb(host, "enable")

    async def disable(self, host: str, reason: str | None = None) -> Thing:
        return await self._verb(host, "disable", given(reason=reason))

    async def secret(self, host: str, name: str | None = None) -> Thing:
        """What its receiver verifies signatures with."""
        return await self._read(self._one(host, "secret"), {"name": name})
