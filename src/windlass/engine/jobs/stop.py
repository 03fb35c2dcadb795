"""Tell the nodes that run cancelled jobs to stop them.

    asked -+- of this node -> told at once
           '- of others, by node -> signal `cancel` -> it asks PostgreSQL, and stops them

Promises: exactly the nodes that run one are told, through Redis or PostgreSQL
(engine.cluster.node_signals); each by one signal at a time, and what is asked meanwhile gathers for
the next. Where nothing runs nothing is done. Nobody waits for it. That a job was asked to stop is
committed before anybody is told, and what its node says to it changes no answer: a caller who
waited would learn nothing, and a frozen node would hold it up. Who is told and does not hear finds
out from PostgreSQL: at its next look (runtime.duties), or its lease lapses and the rescue ends the
job as cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from uuid import UUID

import structlog

from windlass import ids
from windlass.engine.announce import Announcer
from windlass.engine.cluster.node_signals import Signaller
from windlass.errors import Unavailable
from windlass.limits import SIGNAL_JOBS_MAX, SIGNAL_WAIT_SECONDS
from windlass.supervise import supervisor

log = structlog.get_logger()


class Stopper:
    def __init__(
        self, signaller: Signaller, announcer: Announcer, this_node: Callable[[], UUID]
    ) -> None:
        self._signaller = signaller
        self._announcer = announcer
        self._this_node = this_node
        self._waiting: dict[UUID, list[UUID]] = {}  # node -> jobs that it is to be told of
        self._telling: dict[UUID, asyncio.Task[None]] = {}  # node -> who tells it

    def stop(self, asked: Mapping[UUID, UUID]) -> None:
        """These running jobs must stop, each on its node. Never waits."""
        if not asked:
            return
        self._announcer.cancels(asked)
        for job_id, node_id in asked.items():
            if node_id != self._this_node():
                self._waiting.setdefault(node_id, []).append(job_id)
        for node_id in self._waiting.keys() - self._telling.keys():
            task = supervisor().spawn(self._tell_all(node_id), name="tell of cancelled jobs")
            self._telling[node_id] = task

    async def close(self) -> None:
        """Give up what is not told yet."""
        telling = list(self._telling.values())
        for task in telling:
            task.cancel()
        await asyncio.gather(*telling, return_exceptions=True)

    async def _tell_all(self, node_id: UUID) -> None:
        try:
            while waiting := self._waiting.pop(node_id, None):
                if more := waiting[SIGNAL_JOBS_MAX:]:
                    self._waiting[node_id] = more
                await self._tell(node_id, waiting[:SIGNAL_JOBS_MAX])
        finally:
            del self._telling[node_id]

    async def _tell(self, node_id: UUID, job_ids: list[UUID]) -> None:
        payload = {"jobs": [ids.show("job", job_id) for job_id in job_ids]}
        node = ids.show("node", node_id)
        try:
            said = await self._signaller.signal([node_id], "cancel", payload, SIGNAL_WAIT_SECONDS)
        except Unavailable as trouble:
            log.warning("cancel_not_told", node=node, jobs=len(job_ids), reason=str(trouble))
            return
        for reason in said.reasons.values():
            log.warning("cancel_not_acknowledged", node=node, jobs=len(job_ids), reason=reason)
