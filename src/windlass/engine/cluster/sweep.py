"""Garbage collection in Redis after dead coordinators: check the request, sweep, report.

A request that would harm the living is refused. Used by the leader every few minutes, by
POST /v1/system/sweep, and by `windlass sweep`, which needs nothing but Redis.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    RedisClusterException,
    RedisError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from windlass.clock import monotonic
from windlass.errors import InvalidInput, Unavailable, WindlassError
from windlass.fastlane.connect import TROUBLE, client_of, close_client
from windlass.fastlane.sweep import Swept, say_swept, sweep
from windlass.limits import (
    DURATION_SECONDS_MAX,
    STALE_BEATS_MIN,
    STALE_IDS_MAX,
    SWEEP_CALL_SECONDS,
    SWEEP_SECONDS_MAX,
)


class SweepFailed(WindlassError):
    """Redis answered, but would not do it."""

    code = "sweep_failed"
    status = 503


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    checked: int  # stale + kept + skipped
    stale: int
    removed_keys: int  # or that would go
    kept: int
    skipped: int  # their beat cannot be read, or their slot is being moved
    ms: float
    per_second: float  # coordinators checked
    stale_ids: list[str]
    dry_run: bool
    mode: str  # pipelined: scripts are refused there


class Sweeper:
    def __init__(
        self,
        url: str,
        *,
        stale_seconds: float,
        heartbeat_seconds: float,
        observe: Callable[[SweepReport], None] = lambda _report: None,
    ) -> None:
        self._url = url
        self._stale_seconds = stale_seconds
        self._stale_seconds_min = STALE_BEATS_MIN * heartbeat_seconds
        self._observe = observe

    async def sweep(
        self,
        stale_seconds: float | None = None,  # None: as the settings say
        *,
        is_dry_run: bool = False,
        is_scan: bool = False,
    ) -> SweepReport:
        """Raises InvalidInput, Unavailable when Redis cannot be reached, and SweepFailed."""
        limit = self._stale_seconds if stale_seconds is None else stale_seconds
        self._check(limit)
        started = monotonic()
        swept = await self._sweep(limit, is_dry_run, is_scan)
        report = _report(swept, monotonic() - started, is_dry_run)
        if not is_dry_run:
            self._observe(report)
        return report

    def _check(self, stale_seconds: float) -> None:
        if not self._stale_seconds_min <= stale_seconds <= DURATION_SECONDS_MAX:
            raise InvalidInput.at(
                "/stale_after",
                f"{stale_seconds:g} seconds are not allowed: at least {self._stale_seconds_min:g} "
                f"({STALE_BEATS_MIN} heartbeats), or the living would be swept away, and at most "
                f"{DURATION_SECONDS_MAX}",
            )

    async def _sweep(self, stale_seconds: float, is_dry_run: bool, is_scan: bool) -> Swept:
        client = client_of(self._url, seconds=SWEEP_CALL_SECONDS)
        try:
            async with asyncio.timeout(SWEEP_SECONDS_MAX):
                swept = await sweep(
                    client, stale_seconds=stale_seconds, is_dry_run=is_dry_run, is_scan=is_scan
                )
                if not is_dry_run:
                    await say_swept(client)
                return swept
        except (AuthenticationError, AuthorizationError) as refusal:
            raise SweepFailed(f"Redis lets nobody in with these credentials: {refusal}") from None
        except (RedisConnectionError, RedisTimeoutError, OSError, TimeoutError) as trouble:
            raise Unavailable(f"Redis cannot be reached: {trouble}") from trouble
        except (RedisError, RedisClusterException) as refusal:
            raise SweepFailed(f"Redis refused a part of the sweep: {refusal}") from refusal
        finally:
            with contextlib.suppress(*TROUBLE):
                await close_client(client)


def _report(swept: Swept, seconds: float, is_dry_run: bool) -> SweepReport:
    ids = [one.decode(errors="backslashreplace") for one in swept.stale]
    stale, skipped = len(swept.stale), len(swept.skipped)
    return SweepReport(
        checked=swept.checked,
        stale=stale,
        removed_keys=swept.removed_keys,
        kept=max(0, swept.checked - stale - skipped),
        skipped=skipped,
        ms=round(seconds * 1000, 3),
        per_second=round(swept.checked / seconds, 1) if seconds > 0 else 0.0,
        stale_ids=ids[:STALE_IDS_MAX],
        dry_run=is_dry_run,
        mode=swept.mode,
    )
