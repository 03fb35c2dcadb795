"""Operations: changes of a node that take time, and the phases they go through.

    grow     pending -> applying -> done
    shrink   pending -> pausing -> draining -> shrinking -> applying -> resuming -> done
    pause    pending -> pausing -> done
    resume   pending -> resuming -> done
    drain    pending -> pausing -> draining -> done

From any of them an operation may be rolled back. A phase is written before it is entered.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from windlass.model.row import Row

Kind = Literal["resize", "pause", "resume", "drain"]
OnTimeout = Literal["hand_back", "finish"]
Phase = Literal[
    "pending", "pausing", "draining", "shrinking", "applying", "resuming", "done", "rolled_back"
]
# In the order in which they are gone through.
PHASES: Final[tuple[Phase, ...]] = (
    "pending",
    "pausing",
    "draining",
    "shrinking",
    "applying",
    "resuming",
    "done",
    "rolled_back",
)
ENDED: Final = frozenset[Phase]({"done", "rolled_back"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    id: UUID
    kind: Kind
    node_id: UUID
    parent_id: UUID | None  # of a change of the whole cluster; None: of one node
    phase: Phase
    from_workers: int
    to_workers: int | None  # None: not a resize
    drain_seconds: float
    on_timeout: OnTimeout
    progress: dict[str, Any]
    reason: str | None  # why it was rolled back
    asked_by: str | None
    is_abort_asked: bool
    created_at: datetime
    changed_at: datetime
    ended_at: datetime | None  # None: it is under way

    @property
    def is_shrink(self) -> bool:
        return self.to_workers is not None and self.to_workers < self.from_workers


def operation_from(row: Row) -> Operation:
    return Operation(
        id=row["id"],
        kind=row["kind"],
        node_id=row["node_id"],
        parent_id=row["parent_id"],
        phase=row["phase"],
        from_workers=row["from_workers"],
        to_workers=row["to_workers"],
        drain_seconds=row["drain_seconds"],
        on_timeout=row["on_timeout"],
        progress=json.loads(row["progress"]),
        reason=row["reason"],
        asked_by=row["asked_by"],
        is_abort_asked=row["is_abort_asked"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        ended_at=row["ended_at"],
    )


def phase_of_all(operations: Sequence[Operation]) -> Phase:
    """Of a change of the whole cluster: the phase of the node that is behind the others."""
    under_way = [op.phase for op in operations if op.phase not in ENDED]
    if under_way:
        return min(under_way, key=PHASES.index)
    return "rolled_back" if any(op.phase == "rolled_back" for op in operations) else "done"


def would_drain(workers: int, in_flight: int, to_workers: int) -> int:
    """How many attempts a shrink waits for. What a node holds beyond its slots has not begun."""
    return max(0, min(in_flight, max(workers, 1)) - to_workers)
