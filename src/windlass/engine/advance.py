"""Tell children that their parents have ended, and their children in turn; go on with executions.

Promises: a job never becomes `queued` before every parent has ended as it requires (G5). Runs in
the transaction that ended the parents, so there is no instant at which a child could be forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from windlass.engine.abandon import abandon
from windlass.engine.lock_release import release
from windlass.engine.progress import progress
from windlass.engine.progressed import Progressed
from windlass.engine.step_starts import StepStarts
from windlass.model.harmless import harmless_json
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


@dataclass(slots=True)
class Advanced:
    """What came of it, for wake-ups and waiting callers."""

    ready: list[Record] = field(default_factory=list)  # queue, priority, run_at
    ended: list[Record] = field(default_factory=list)  # id, state, queue
    progressed: Progressed = field(default_factory=Progressed)  # of executions


async def advance(
    connection: Connection[Record],
    ended: Sequence[Record],
    starts: StepStarts | None = None,
    *,
    is_divisible: bool = False,
) -> Advanced:
    """`ended` are rows of job_end_many or job_drop_many, ended in this transaction. For
    `is_divisible` see progress.play.
    """
    advanced = Advanced()
    steps = [row for row in ended if row["execution_id"] is not None]
    if steps:
        advanced.progressed = await progress(connection, steps, starts, is_divisible=is_divisible)
        advanced.ready += advanced.progressed.ready
        advanced.ended += advanced.progressed.ended
        fallen = [row for row in steps if row["state"] != "succeeded"]
        advanced.progressed.add((await abandon(connection, fallen)).progressed)
    leaving, locked = [row for row in ended if row["locks"]], advanced.progressed.locked
    parents = {row["id"]: row["state"] for row in ended if row["has_children"]}
    while parents:
        told = await connection.fetch(
            statement("child_advance"), list(parents), list(parents.values())
        )
        advanced.ready += [row for row in told if row["verdict"] == "ready"]
        locked += [row["child_id"] for row in told if row["verdict"] == "lock"]
        stopped = {row["child_id"]: row["verdict"] for row in told}
        dropped = await _drop(connection, stopped)
        advanced.ended += dropped
        leaving += [row for row in dropped if row["locks"]]
        # Each round is one level down; a circle cannot exist, since parents precede children.
        parents = {row["id"]: row["state"] for row in dropped if row["has_children"]}
    passed = await release(connection, leaving, locked)
    locked.clear()
    advanced.ready += passed.ready
    advanced.progressed.locks.add(passed)
    return advanced


async def _drop(connection: Connection[Record], verdicts: dict[UUID, str]) -> list[Record]:
    stopped = {child: rule for child, rule in verdicts.items() if rule in ("skip", "fail")}
    if not stopped:
        return []
    error = harmless_json(
        {"cause": "parent_failed", "message": "a job it depends on ended without success"}
    )
    return await connection.fetch(
        statement("job_drop_many"),
        list(stopped),
        ["skipped" if rule == "skip" else "dead" for rule in stopped.values()],
        [error] * len(stopped),
        ["parent_failed"] * len(stopped),
    )
