"""After a commit: tell everybody who waits, and look after what no node performs.

Takes the effects of a transaction (engine.effects) and does what may only be done once it is
committed: wake-ups and ends through the announcer, children that were too many for one transaction
(engine.jobs.notify_children), and fan-outs, child executions and signals (engine.executions.upkeep)
in the background.

All of it is made good elsewhere if this process dies here: waiters poll, executions are refreshed
by the safety net, steps are found by `engine.executions.upkeep`, children that were not told by
any node's duties (runtime.duties).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from uuid import UUID

import structlog

from windlass.engine.announce import Announcer
from windlass.engine.effects import Effects, Upkeep
from windlass.engine.executions.upkeep import run_upkeep
from windlass.engine.isolated_round import ItemBackoff
from windlass.engine.jobs.notify_children import notify_children
from windlass.errors import Unavailable
from windlass.limits import EXECUTION_TREE_MAX, HELD_REST_SECONDS_MAX
from windlass.store.database import Database
from windlass.supervise import supervisor

log = structlog.get_logger()


class Follower:
    def __init__(
        self,
        database: Database,
        announcer: Announcer,
        *,
        # Tells nodes to stop jobs (engine.jobs.cancel). None: only this process is told.
        stop: Callable[[Mapping[UUID, UUID]], None] | None = None,
        on_failed: Callable[[str], None] = lambda _: None,  # counts what could not be tended
        tree_max: int = EXECUTION_TREE_MAX,
    ) -> None:
        self._database = database
        self._announcer = announcer
        self.backoff = ItemBackoff(on_failed)
        self._tree_max = tree_max
        self._due = Upkeep()
        self._task: asyncio.Task[None] | None = None
        self._notifying: asyncio.Task[None] | None = None
        self._stop = stop or announcer.cancels

    def follow(self, effects: Effects) -> None:
        """Everything that follows a commit."""
        announcer = self._announcer
        announcer.ends(effects.ended)
        if effects.due or effects.requeued:
            announcer.rows([*effects.requeued, *effects.due])
        if effects.lines:
            announcer.lines(effects.lines)
        if effects.stopping:
            self._stop(effects.stopping)
        if effects.locks_granted:
            announcer.locks(effects.locks_granted)
        if effects.look_seconds is not None:
            announcer.lock_due(effects.look_seconds)
        if effects.urgent_marks:
            announcer.marks(effects.urgent_marks, is_urgent=True)
        if lazy := effects.lazy_marks - effects.urgent_marks:
            announcer.marks(lazy, is_urgent=False)
        if effects.unnotified_parents:
            self.notify()
        if effects.upkeep:
            self._tend(effects.upkeep)

    async def quiet(self) -> None:
        """Wait until nothing is left to look after."""
        while tasks := [task for task in (self._task, self._notifying) if task is not None]:
            await asyncio.wait(tasks)

    def notify(self) -> None:
        """Tell the children that wait to be told, if there are any."""
        if self._notifying is None:
            self._notifying = supervisor().spawn(self._notify(), name="notify children")

    async def _notify(self) -> None:
        try:
            while await notify_children(self._database, self.backoff, self.follow):
                pass
        except Unavailable as trouble:
            log.warning("notify_children_put_off", reason=str(trouble))
        except Exception:
            log.exception("notify_children_stopped")  # the next `recover` begins it again
        finally:
            self._notifying = None

    def _tend(self, upkeep: Upkeep) -> None:
        self._due.add(upkeep)
        if self._task is None:
            self._task = supervisor().spawn(self._tend_all(), name="tend executions")

    async def _tend_all(self) -> None:
        try:
            while self._due:
                due, self._due = self._due, Upkeep()
                held = Upkeep()
                try:
                    self.follow(
                        await run_upkeep(self._database, due, self.backoff, self._tree_max, held)
                    )
                except Exception:
                    # `run_upkeep` keeps its items apart, so this is nobody's: whatever it is, the
                    # next round comes, and the net finds what this one left.
                    log.exception("tending_stopped")
                if held:
                    loop = asyncio.get_running_loop()
                    loop.call_later(HELD_REST_SECONDS_MAX, self._tend, held)
        finally:
            self._task = None
