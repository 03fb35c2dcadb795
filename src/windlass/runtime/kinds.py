"""What a node can perform, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from windlass.model.attempt import Attempt
from windlass.model.outcome import Failed, Outcome, TimedOut
from windlass.strategies.strategy import Instant, Resizable, Strategy

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinds:
    instant: Mapping[str, Instant]
    slotted: Mapping[str, Strategy]
    timeout_seconds: Mapping[str, float]  # of kinds with a setting of their own
    default_timeout_seconds: float

    def perform_now(self, instant: Instant, attempt: Attempt) -> Outcome:
        try:
            return instant.perform_now(attempt)
        except Exception as trouble:
            return _broken(attempt, trouble)

    async def perform_until_deadline(self, attempt: Attempt) -> Outcome:
        strategy = self.slotted.get(attempt.kind)
        if strategy is None:
            return Failed("unknown_kind", f"this node cannot perform kind {attempt.kind!r}")
        seconds = self._deadline_seconds(attempt)
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        # As asyncio.timeout does it, at a third of its price: this is done for every attempt.
        is_late = False

        def stop() -> None:
            nonlocal is_late
            is_late = True
            task.cancel()

        asked_before = task.cancelling()
        timer = loop.call_later(seconds, stop)
        try:
            return await strategy.perform(attempt)
        except asyncio.CancelledError:
            if is_late and task.cancelling() - 1 <= asked_before:
                return TimedOut(seconds)
            raise  # somebody else stopped it as well, or alone
        except Exception as trouble:
            return _broken(attempt, trouble)
        finally:
            timer.cancel()
            if is_late:
                task.uncancel()

    def _deadline_seconds(self, attempt: Attempt) -> float:
        if attempt.timeout_ms is not None:
            return attempt.timeout_ms / 1000
        return self.timeout_seconds.get(attempt.kind, self.default_timeout_seconds)

    def resize(self, workers: int) -> None:
        """Keep ready no more than so many slots need. Only what is idle is closed."""
        for strategy in self.slotted.values():
            if isinstance(strategy, Resizable):
                strategy.resize(workers)

    async def close(self) -> None:
        for strategy in self.slotted.values():
            await strategy.close()


def _broken(attempt: Attempt, trouble: Exception) -> Failed:
    """A strategy turns what happens outside into outcomes; that it raised is a bug of ours."""
    log.error(
        "strategy_failed", kind=attempt.kind, job=f"job_{attempt.job_id.hex}", exc_info=trouble
    )
    return Failed(type(trouble).__name__, str(trouble))
