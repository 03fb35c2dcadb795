"""Running a test's node until nothing is left to do now.

    facts -> what time has brought about (the engine's own verbs) -> the node until it is idle -'
      ^_________________________________________________________________________________________|

A round that changes nothing is the last: the facts hold a mark that changes with everything that
moves. Whatever a node would do within seconds because a loop comes round is done at once here, by
the same verbs, which any node may use at any time. The node's loops may be at it at that very
moment, and then these verbs find it locked and leave it: so what always ends is waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from windlass import ids
from windlass.clock import monotonic
from windlass.compose.start import Windlass
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.refresh import refresh
from windlass.engine.executions.upkeep import find_neglected
from windlass.engine.jobs.admission import QueueDefaults
from windlass.engine.jobs.rescue import recover
from windlass.engine.schedules.decide import FireOptions
from windlass.engine.schedules.fire import fire_due
from windlass.errors import WindlassError
from windlass.testing.local_gate import Gate
from windlass.testing.local_sql import ask

LOOK_SECONDS: Final = 0.001


class NotQuiet(WindlassError):
    """Work went on for longer than a test wants to wait."""

    code = "not_quiet"


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 (a node tells nobody that it has become idle)
        await asyncio.sleep(LOOK_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    now: datetime
    held: int  # attempts under way
    has_due_job: bool  # something may hold it back
    has_due_schedule: bool
    has_overdue: bool
    has_webhook: bool
    executions: list[UUID]  # unfinished
    next_at: datetime | None  # None: time alone brings nothing
    mark: str  # changes with everything that moves

    @property
    def is_in_hand(self) -> bool:
        """Is there something that always ends, whoever does it?"""
        return bool(self.held or self.has_due_schedule or self.has_overdue)

    @property
    def is_nothing_left(self) -> bool:
        """Then nobody has to look whether anything moves."""
        return not (self.is_in_hand or self.has_due_job or self.has_webhook or self.executions)


class Quiet:
    def __init__(self, running: Windlass, gate: Gate) -> None:
        self._running, self._gate = running, gate
        self._database = running.database

    async def facts(self) -> Facts:
        [row] = await ask(self._database, "local_facts")
        return Facts(**dict(row))

    async def reach(self, seconds_max: float) -> Facts:
        """Run until nothing is due and nothing runs; returns what is so then. Raises NotQuiet."""
        async with self._in_time(seconds_max), self._gate.open():
            mark = None
            while True:
                facts = await self.facts()
                if facts.is_nothing_left or (facts.mark == mark and not facts.is_in_hand):
                    return facts
                mark = facts.mark
                await self._bring_about(facts)
                await self._let_run()

    async def _bring_about(self, facts: Facts) -> None:
        follower = self._running.follower
        if facts.has_overdue:
            follower.follow(await recover(self._database))
        if facts.has_due_schedule:
            await self._fire()
        if facts.has_webhook:
            await self._running.targets.look()
        if facts.executions:
            follower.follow(await find_neglected(self._database))
            await self._refresh(facts.executions)

    async def _fire(self) -> None:
        settings = self._running.settings
        options = FireOptions(
            queue_defaults=QueueDefaults(
                max_jobs=settings.queue_max_jobs, max_bytes=settings.queue_max_bytes
            ),
            max_attempts=settings.retry_max_attempts,
        )
        is_full = True
        while is_full:
            fired = await fire_due(self._database, options)
            self._running.follower.follow(fired.effects)
            is_full = fired.is_full

    async def _refresh(self, executions: list[UUID]) -> None:
        done = await refresh(self._database, executions)
        self._running.announcer.ends(done.ended, is_event=False)
        if done.unconcluded:
            self._running.follower.follow(await conclude(self._database, done.unconcluded))

    async def _let_run(self) -> None:
        """Until the node has looked at all lines and holds nothing."""
        asked = monotonic()
        self._gate.look()
        worker = self._running.node.worker
        await until(lambda: worker.is_idle and worker.looked_seconds_ago < monotonic() - asked)
        await self._running.follower.quiet()

    @contextlib.asynccontextmanager
    async def _in_time(self, seconds_max: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(seconds_max):
                yield
        except TimeoutError:
            held = sorted(ids.show("job", one) for one in self._running.node.worker.holds())
            what = f"these run: {', '.join(held[:5])}" if held else "jobs keep making others"
            raise NotQuiet(
                f"it did not become quiet within {seconds_max:g} seconds; {what}"
            ) from None
