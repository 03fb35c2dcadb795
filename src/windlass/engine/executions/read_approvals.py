"""Read which decisions people are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from windlass.store.database import Database, Record
from windlass.store.statements import statement

# `void`: its step waits no more; it timed out, or was cancelled.
STATES: Final = ("open", "approved", "rejected", "void")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalFilter:
    """Which. None or empty: any."""

    states: tuple[str, ...] = ()
    execution_id: UUID | None = None


async def list_approvals(
    database: Database, which: ApprovalFilter, limit: int, before: UUID | None = None
) -> list[Record]:
    """Up to `limit` with ids below `before`, newest first."""
    conditions, values = [], list[Any]()

    def where(condition: str, value: object) -> None:
        values.append(value)
        conditions.append(condition.format(f"${len(values) + 1}"))

    if which.states == ("open",):
        conditions.append("a.state = 'open'")  # as the index has it
    elif which.states:
        where("a.state = ANY ({}::text[])", list(which.states))
    if which.execution_id is not None:
        where("a.execution_id = {}", which.execution_id)
    if before is not None:
        where("a.id < {}", before)
    sql = statement("approval_list").replace("{where}", " AND ".join(conditions) or "true")
    return await database.browse(sql, limit, *values)
