"""What the beginning of an id can mean: the few things whose ids begin so. Nodes go by name, too.

Promises: one statement for each noun that is asked for, which reads no more rows than it returns,
however many ids begin alike: an id begins with the time at which it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from windlass import ids
from windlass.engine.cluster.nodes import list_nodes
from windlass.store.database import Database

_STATEMENTS: Final = {
    "job": "job_match",
    "execution": "execution_match",
    "operation": "operation_match",
    "approval": "approval_match",
}
NOUNS: Final = (*_STATEMENTS, "node")
_ALIVE: Final = ("active", "draining")


@dataclass(frozen=True, slots=True, kw_only=True)
class IdMatch:
    """One thing that may be meant, with what tells it from the others."""

    noun: str
    id: UUID
    name: str  # what it is of: task, host, workflow, title, kind of operation; the name of a node
    state: str | None  # None: it has none of its own, being a change of the whole cluster
    created_at: datetime


async def find_matches(
    database: Database, nouns: Sequence[str], text: str, most: int
) -> list[IdMatch]:
    """Up to `most` of each of these nouns, newest first."""
    found: list[IdMatch] = []
    for noun in nouns:
        if noun == "node":
            found += (await _nodes(database, text))[:most]
        elif (within := ids.range_of(noun, text)) is not None:
            rows = await database.read(_STATEMENTS[noun], *within, most)
            found += [IdMatch(noun=noun, **row) for row in rows]
    return found


async def _nodes(database: Database, text: str) -> list[IdMatch]:
    """By name, or else by id; the dead ones only when no living one is meant."""
    rows: list[Any] = await list_nodes(database)
    digits = text.removeprefix(ids.PREFIXES["node"])
    named = [row for row in rows if row["name"] == text]
    meant = named or [row for row in rows if digits and row["id"].hex.startswith(digits)]
    alive = [row for row in meant if row["state"] in _ALIVE]
    return [
        IdMatch(
            noun="node",
            id=row["id"],
            name=row["name"],
            state=row["state"],
            created_at=row["started_at"],
        )
        for row in alive or meant
    ]
