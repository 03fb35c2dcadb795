"""Start the executions of schedules that fire.

One that cannot be started, because its workflow is gone or its input does not fit any more, is
refused alone. With `queue_one` its executions have a concurrency key of the schedule's own,
under which the next begins when the one before it has ended (see engine.executions.concurrency).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from windlass.engine.executions.start import Prepared, Start, begin, prepare
from windlass.engine.schedules.decide import Fired, PlannedFiring, Refusal
from windlass.errors import WindlassError
from windlass.model.json import strict as strict_json
from windlass.model.schedule.placeholder import fill
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


async def start_executions(
    connection: Connection[Record], planned: Sequence[PlannedFiring], fired: Fired
) -> None:
    async def fetch(name: str, *args: Any) -> list[Record]:
        return await connection.fetch(statement(name), *args)

    found = await prepare(fetch, [_start(one) for one in planned])
    ready = []
    for one, prepared in zip(planned, found, strict=True):
        one.refusal = _refusal(one, prepared)
        if isinstance(prepared, Prepared) and one.refusal is None:
            ready.append((one, prepared))
    if not ready:
        return
    queues = sorted({queue for _, prepared in ready for queue in prepared.plan.queues})
    await fetch("queue_ensure_many", queues, None)
    await _begin_apart(connection, ready, fired)


def concurrency_key_of(schedule_id: UUID) -> str:
    """The concurrency key of its executions."""
    return f"schedule {schedule_id.hex}"


def _start(one: PlannedFiring) -> Start:
    row = one.row
    asked = strict_json.parse(fill(row["workflow"], one.decision.instant).encode())
    return Start(
        workflow=asked["name"],
        version=asked.get("version"),
        input=asked.get("input") or {},
        priority=row["priority"],
        owner=row["owner"],
        execution_id=one.made_id,
        concurrency_key=concurrency_key_of(row["id"]) if row["overlap"] == "queue_one" else None,
    )


def _refusal(one: PlannedFiring, prepared: Prepared | WindlassError) -> Refusal | None:
    if isinstance(prepared, WindlassError):
        return Refusal("skipped", f"{prepared.code}: {prepared}")
    if one.behind is None:
        return None
    key = concurrency_key_of(one.row["id"])
    stands_there = all(found["concurrency_key"] == key for found in one.beside)
    if prepared.key == key and stands_there:
        return None
    # Under another policy, or by a definition with a key of its own: nobody would tell it to begin.
    return Refusal("skipped", "overlap: one had not ended that cannot be waited for")


async def _begin_apart(
    connection: Connection[Record], ready: Sequence[tuple[PlannedFiring, Prepared]], fired: Fired
) -> None:
    """Begin together; if the concurrency of one refuses it, each alone."""
    try:
        async with connection.transaction():
            started = await begin(connection, [prepared for _, prepared in ready])
    except WindlassError as trouble:
        if len(ready) == 1:
            ready[0][0].refusal = Refusal("skipped", f"{trouble.code}: {trouble}")
            return
        for pair in ready:
            await _begin_apart(connection, [pair], fired)
    else:
        fired.effects.add(started.effects)
