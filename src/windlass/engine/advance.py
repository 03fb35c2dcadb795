"""Tell children that their parents have ended, and their children in turn.

Promises: a job never becomes `queued` before every parent has ended as it requires (G5). Runs in
the transaction that ended the parents, so there is no instant at which a child could be forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from windlass.model.harmless import harmless_json
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


@dataclass(slots=True)
class Advanced:
    """What came of it, for wake-ups and waiting callers."""

    ready: list[Record] = field(default_factory=list)  # queue, priority, run_at
    ended: list[Record] = field(default_factory=list)  # id, state, queue


async def advance(connection: Connection[Record], ended: Sequence[Record]) -> Advanced:
    """`ended` are rows with id, state and has_children, ended in this transaction."""
    advanced = Advanced()
    parents = {row["id"]: row["state"] for row in ended if row["has_children"]}
    while parents:
        told = await connection.fetch(
            statement("child_advance"), list(parents), list(parents.values())
        )
        advanced.ready += [row for row in told if row["verdict"] == "ready"]
        stopped = {row["child_id"]: row["verdict"] for row in told}
        dropped = await _drop(connection, stopped)
        advanced.ended += dropped
        # Each round is one level down; a circle cannot exist, since parents precede children.
        parents = {row["id"]: row["state"] for row in dropped if row["has_children"]}
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
