"""Targets: the hosts that webhooks go to; their limits and breakers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypedDict, Unpack

from windlass.sdk.http.paging import Pages
from windlass.sdk.nouns.noun import Noun, given
from windlass.sdk.objects.resources import Target, TargetSecret


class TargetLimits(TypedDict, total=False):
    """The limits of a target: what is absent or None is the default."""

    rate: float | None  # deliveries a second
    max_running: int | None
    breaker: Mapping[str, Any] | None


class Targets(Noun):
    """The hosts that webhooks go to."""

    path: ClassVar[str] = "/v1/targets"

    async def get(self, host: str) -> Target:
        """Read its limits, its breaker and how it answered."""
        return await self._read(Target, self._one(host))

    def list(self, *, limit: int | None = None) -> Pages[Target]:
        """List targets by name."""
        return self._pages(Target, {"limit": limit})

    async def put(
        self, host: str, *, if_match: str | None = None, **limits: Unpack[TargetLimits]
    ) -> Target:
        """Set its limits, all of them: those that are not given are the default again."""
        return Target(await self._exchange.put(self._one(host), limits, if_match=if_match))

    async def reset(self, host: str) -> Target:
        """Close its breaker."""
        return await self._verb(Target, host, "reset")

    async def enable(self, host: str) -> Target:
        """Let deliveries go there again."""
        return await self._verb(Target, host, "enable")

    async def disable(self, host: str, reason: str | None = None) -> Target:
        """Hold back what goes there; `reason` says why."""
        return await self._verb(Target, host, "disable", given(reason=reason))

    async def secret(self, host: str, name: str | None = None) -> TargetSecret:
        """Read what its receiver verifies signatures with."""
        return await self._read(TargetSecret, self._one(host, "secret"), {"name": name})
