"""The tree of executions below one that somebody started: bounded, and cut off where given up.

    a step wants its child -> do all above still go on? -> inserted, counted -> too many: undone

Promises: once a cancel of any execution was answered, no child that is begun afterwards below it
is committed, so the cancel catches up however fast the tree was growing: what was being begun at
that moment is reached from step to step (engine.jobs.end), and can have no children. A root has at
most so many descendants as the setting says, and as many more as commit at the same moment.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from windlass import ids
from windlass.chance import chance
from windlass.errors import Conflict
from windlass.limits import CHILD_DEPTH_MAX
from windlass.store.database import Connection, Record
from windlass.store.statements import statement

SLOTS: Final = 16  # the table's check says the same


class TreeFull(Conflict):
    """As many executions were begun below one as may be."""

    code = "tree_full"

    def __init__(self, root_id: UUID, limit: int) -> None:
        self.root_id, self.limit = ids.show("execution", root_id), limit
        super().__init__(
            f"{limit} executions were begun below {self.root_id}, which is as many as may be; does "
            "a workflow begin itself? (the setting execution_tree_max allows more)"
        )

    @property
    def facts(self) -> dict[str, Any]:
        return {"execution_id": self.root_id, "limit": self.limit, "unit": "executions"}


class AncestorEnded(Conflict):
    """An execution above this one wants nothing more."""

    code = "ancestor_ended"

    def __init__(self, execution_id: UUID, why: str) -> None:
        self.execution_id = ids.show("execution", execution_id)
        super().__init__(f"{self.execution_id} {why}, and nothing is begun below it")


async def check_ancestors(connection: Connection[Record], parent_id: UUID) -> UUID:
    """The root of a child that this execution is about to have. Raises AncestorEnded."""
    rows = await connection.fetch(statement("execution_ancestry"), parent_id, 2 * CHILD_DEPTH_MAX)
    for row in rows:
        if row["over"] is not None:
            raise AncestorEnded(row["id"], row["over"])
    if not rows:
        return parent_id
    root_id: UUID = rows[0]["root_id"] or rows[-1]["id"]
    return root_id


async def count_descendant(connection: Connection[Record], root_id: UUID, tree_max: int) -> None:
    """One more below this root. Raises TreeFull; the caller's transaction is to be rolled back."""
    slot = int(chance() * SLOTS)
    (row,) = await connection.fetch(statement("execution_tree_add"), root_id, slot)
    if row["born"] > tree_max:
        raise TreeFull(root_id, tree_max)
