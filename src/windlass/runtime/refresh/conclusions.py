"""Concludes executions that have ended, in batches; those that cannot be yet are set aside.

A batch is concluded as one, and fails as one: somebody holds what one of them needs, or one trips
over what nobody had thought of. The refresher does not wait to find out; it goes on with the next.

    batch -> it failed -> its own row or key is held: the refresher brings it again after a rest
                      \\-> halves -> halves -> the one     something else is held: the same
                                 \\-> the others are done   anything else: the net brings it again

Promises: the refresher waits once for a batch, however many of it are held. What is set aside has
its turn in the order in which it came; a round of that waits SIFT_WAITS_MAX times at most, and has
one connection while it is tried. Who is told of nothing here is found by runtime.refresh.net.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from uuid import UUID

import structlog

from windlass.engine.effects import Effects
from windlass.engine.executions.refresh import Conclude, find_locked_executions
from windlass.errors import Unavailable
from windlass.limits import HELD_REST_SECONDS_MAX, REFRESH_WAITING_MAX, SIFT_WAITS_MAX
from windlass.runtime.loop import Loop
from windlass.store.database import Database, RowLocked, TooSlow
from windlass.telemetry.metrics import Metrics

log = structlog.get_logger()

_LONG_SECONDS = 3600.0  # until somebody wakes it


class Conclusions:
    def __init__(
        self,
        database: Database,
        metrics: Metrics,
        *,
        conclude: Conclude,
        follow: Callable[[Effects], None],  # hears what came of it
        on_held: Callable[[Collection[UUID]], None],  # they are to be brought again
        on_overflow: Callable[[int], None],  # so many were dropped
    ) -> None:
        self._database, self._metrics = database, metrics
        self._conclude, self._follow = conclude, follow
        self._on_held, self._on_overflow = on_held, on_overflow
        self._groups: deque[list[UUID]] = deque()
        self._aside: set[UUID] = set()  # the members of all groups
        self.loop = Loop("conclude set aside", self.sift)

    def __len__(self) -> int:
        return len(self._aside)

    async def conclude(self, execution_ids: Sequence[UUID]) -> set[UUID]:
        """Returns those that are not concluded yet, which are seen to later."""
        group = [one for one in execution_ids if one not in self._aside]
        left = set(execution_ids).difference(group)
        if group and not await self._try(group):
            left.update(group)
            self.loop.wake()
        return left

    async def sift(self) -> float:
        """One round over what was set aside. Returns how many seconds to rest."""
        waits_left = SIFT_WAITS_MAX
        while self._groups and waits_left:
            group = self._groups.popleft()
            self._aside.difference_update(group)
            try:
                waits_left -= not await self._try(group)
            except BaseException:
                self._set_aside(group)
                raise
        return HELD_REST_SECONDS_MAX if self._groups else _LONG_SECONDS

    async def _try(self, group: list[UUID]) -> bool:
        """False: they could not be concluded together, and were put off or set aside."""
        try:
            self._follow(await self._conclude(self._database, group))
        except (RowLocked, TooSlow):
            await self._put_off(group)
        except Unavailable:
            raise
        except Exception:
            if len(group) > 1:
                self._set_aside_halves(group)
            else:
                self._metrics.tending_failed("conclude")
                log.exception("conclusion_failed", execution=group[0].hex)
        else:
            return True
        return False

    async def _put_off(self, group: list[UUID]) -> None:
        held = await find_locked_executions(self._database, group)
        free = [one for one in group if one not in held]
        if held:
            self._on_held(held)
            self._set_aside(free)
        elif len(free) == 1:
            self._on_held(free)
        else:
            self._set_aside_halves(free)

    def _set_aside_halves(self, group: list[UUID]) -> None:
        half = len(group) // 2
        self._set_aside(group[:half])
        self._set_aside(group[half:])

    def _set_aside(self, group: list[UUID]) -> None:
        room = REFRESH_WAITING_MAX - len(self._aside)
        new = [one for one in group if one not in self._aside]
        if len(new) > room:
            self._on_overflow(len(new) - room)
            new = new[:room]
        if new:
            self._groups.append(new)
            self._aside.update(new)
