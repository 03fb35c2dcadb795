"""Hints to the nodes (wake-ups) of jobs that were committed by SQL, off the caller's path.

    the caller's thread -- hint(home, ids) --> the portal's thread -- one request for many --> API

Promises: a caller neither waits nor hears of a failure: without the hint a node finds the jobs at
its next look. What waits to be told is bounded, one request is under way at a time and for
HINT_SECONDS at most, and after one that failed nothing is sent for HINT_REST_SECONDS.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from windlass.clock import monotonic
from windlass.limits import HINT_JOBS_MAX
from windlass.sdk.http import portal
from windlass.sdk.limits import HINT_REST_SECONDS, HINT_SECONDS, HINTS_MAX
from windlass.sdk.tasks.handle import HasClient

if TYPE_CHECKING:
    from windlass.sdk.http.async_client import AsyncClient
    from windlass.sdk.http.portal import Portal


def hint(home: HasClient, job_ids: Sequence[str]) -> None:
    """These jobs are committed: tell the nodes. Returns at once, and never raises."""
    told = list(job_ids)
    # No thread, or no loop any more: the process is ending.
    with contextlib.suppress(RuntimeError):
        here = portal.get()
        here.post(lambda: _outbox_of(home.client, here).put(told))


class Outbox:
    """What one client has yet to tell. Lives on the portal's thread, and nowhere else."""

    def __init__(self, client: AsyncClient, on: Portal) -> None:
        self.portal = on
        self._jobs = client.jobs
        self._waiting: list[str] = []
        self._sending: asyncio.Task[None] | None = None
        self._rests_until = 0.0

    def put(self, job_ids: Sequence[str]) -> None:
        if monotonic() < self._rests_until:
            return
        self._waiting += job_ids[: HINTS_MAX - len(self._waiting)]
        if self._sending is None and self._waiting:
            self._sending = asyncio.get_running_loop().create_task(self._send())
            self.portal.last_words.add(self._sending)

    async def _send(self) -> None:
        try:
            while self._waiting:
                some = self._waiting[:HINT_JOBS_MAX]
                del self._waiting[:HINT_JOBS_MAX]
                async with asyncio.timeout(HINT_SECONDS):
                    await self._jobs.hint(some)
        except Exception:  # refused, unreachable, too slow: the jobs are found without
            self._waiting.clear()
            self._rests_until = monotonic() + HINT_REST_SECONDS
        finally:
            if self._sending is not None:
                self.portal.last_words.discard(self._sending)
            self._sending = None


_outboxes: WeakKeyDictionary[AsyncClient, Outbox] = WeakKeyDictionary()


def _outbox_of(client: AsyncClient, here: Portal) -> Outbox:
    """One for a client and portal: a forked child has another portal, and begins anew."""
    found = _outboxes.get(client)
    if found is None or found.portal is not here:
        found = _outboxes[client] = Outbox(client, here)
    return found
