"""Cancel jobs wherever they are, and tell the nodes that run them to stop.

    cancel -+- waiting, be it for its receiver -> `cancelled` at once
            '- running -> asked, which is committed -> Stopper -+- of this node: told at once
                                                               '- of others, by node: signal
                                                                  `cancel`, and it stops them

Promises: a job that was asked to cancel can no longer end `succeeded` (G7). Jobs that have ended
stay as they are. Exactly the nodes that run one are told, through Redis or PostgreSQL
(engine.cluster.node_signals); each by one signal at a time, and what is asked meanwhile gathers for
the next. Nobody waits for it: that a job was asked to stop is committed before anybody is told, and
what its node says to it changes no answer. A caller who waited would learn nothing, and a frozen
node would hold it up. Who is told and does not hear finds out from PostgreSQL: at its next look
(runtime.duties), or its lease lapses and the rescue ends the job as cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from uuid import UUID

import structlog

from windlass import ids
from windlass.clock import monotonic
from windlass.engine.announce import Announcer
from windlass.engine.audit.record import of_jobs, record
from windlass.engine.cluster.node_signals import Signaller
from windlass.engine.effects import Effects
from windlass.engine.jobs.complete import cancel_awaited
from windlass.engine.jobs.end import advance
from windlass.errors import Unavailable
from windlass.limits import (
    HELD_PATIENCE_SECONDS,
    HELD_REST_SECONDS,
    HELD_REST_SECONDS_MAX,
    SIGNAL_JOBS_MAX,
    SIGNAL_WAIT_SECONDS,
)
from windlass.store.database import Connection, Database, Record, RowLocked
from windlass.store.statements import statement
from windlass.supervise import supervisor

log = structlog.get_logger()


async def cancel(
    database: Database, job_ids: Sequence[UUID], *, is_recorded: bool = False
) -> Effects:
    """In one transaction, unless somebody holds one of them: then the others do not wait for it.
    Raises RowLocked if it is still held after HELD_PATIENCE_SECONDS; the others are cancelled then.
    `is_recorded`: in the audit log, as somebody asked for it.
    """
    do = _cancel_and_record if is_recorded else cancel_in
    effects = Effects()
    give_up_at = monotonic() + HELD_PATIENCE_SECONDS
    groups, rest = [list(job_ids)], HELD_REST_SECONDS
    held: RowLocked | None = None
    while groups:
        group = groups.pop()
        try:
            part = await database.settle_asked(partial(do, job_ids=group))
        except RowLocked as trouble:
            if len(group) > 1:
                groups += [group[: len(group) // 2], group[len(group) // 2 :]]
            elif monotonic() < give_up_at:
                groups.insert(0, group)
                await asyncio.sleep(rest)
                rest = min(rest * 2, HELD_REST_SECONDS_MAX)
            else:
                held = trouble
        else:
            effects.add(part)
    if held is not None:
        raise held
    return effects


async def cancel_in(connection: Connection[Record], job_ids: Sequence[UUID]) -> Effects:
    """The same in the caller's transaction."""
    # Locked first: a job cannot slip from running to queued between the two statements.
    await connection.fetch(statement("job_lock_many"), list(job_ids))
    count = len(job_ids)
    ended = await connection.fetch(
        statement("job_drop_many"),
        list(job_ids),
        ["cancelled"] * count,
        [None] * count,
        [None] * count,
    )
    asked = await connection.fetch(statement("job_request_cancel_many"), list(job_ids))
    effects = await advance(connection, ended)
    # With a receiver there is nobody to ask: no node runs it.
    dropped = await cancel_awaited(connection, [row["id"] for row in asked])
    effects.add(dropped)
    effects.stopping |= {r["id"]: r["node_id"] for r in asked if r["id"] not in dropped.ended}
    return effects


async def _cancel_and_record(connection: Connection[Record], job_ids: Sequence[UUID]) -> Effects:
    effects = await cancel_in(connection, job_ids)
    touched = [one for one in job_ids if one in effects.ended or one in effects.stopping]
    if touched:
        await record(connection, of_jobs("job.cancel", touched))
    return effects


async def find_cancel_requested(database: Database, node_id: UUID) -> list[UUID]:
    """Which of its running jobs this node must stop."""
    return [row["id"] for row in await database.run("job_cancelling", node_id)]


class Stopper:
    """Tells nodes to stop jobs that were asked to cancel."""

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
