"""Check dependencies and ownership: are parents and children linked, is every running job run?"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from windlass import ids
from windlass.engine.doctor.finding import Finding
from windlass.engine.effects import Effects
from windlass.engine.locks.grant import take_locks
from windlass.limits import RESCUE_INTERVAL_SECONDS
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

FOUND_MAX: Final = 10_000
# A rescue comes by this often; what it has not taken after two rounds is nobody's.
GRACE_SECONDS: Final = 2.0 * RESCUE_INTERVAL_SECONDS + 5.0

_DETAILS: Final = {
    "parent_gone": "waits for {parent}, which is not there any more",
    "child_gone": "has a link to {parent} but does not wait",
    "parent_unmarked": "waits for {parent}, which does not know of it",
    "link_missing": "names {parent} as its parent but would not hear of its end",
    "waits_for": "counts {had} open parents and has links to {should}",
}
_REPAIRS: Final = {
    "parent_gone": "take the link away",
    "child_gone": "take the link away",
    "parent_unmarked": "mark the parent",
    "link_missing": "link it again",
    "waits_for": "count again",
}


async def check_owners(database: Database) -> list[Finding]:
    """Running jobs that nobody runs. A living node's rescue is what repairs them."""
    return [
        Finding(
            check="unowned",
            subject=ids.show("job", row["id"]),
            detail=f"runs on {ids.show('node', row['node_id'])}, which is "
            + (row["node_state"] or "unknown"),
        )
        for row in await database.read("job_unowned", GRACE_SECONDS, FOUND_MAX)
    ]


async def check_links(database: Database, *, repair: bool) -> list[Finding]:
    found = await database.read("link_check", FOUND_MAX)
    if not found:
        return []
    findings = [_finding(row) for row in found]
    if repair:
        children = {row["child_id"] for row in found}
        await _repair(database, children, {row["parent_id"] for row in found} - {None})
        left = {_key(row) for row in await database.read("link_check", FOUND_MAX)}
        for finding, row in zip(findings, found, strict=True):
            finding.is_repaired = _key(row) not in left
            if not finding.is_repaired:
                finding.repair = None
    return findings


def _key(row: Record) -> tuple[str, UUID, UUID | None]:
    return row["problem"], row["child_id"], row["parent_id"]


async def _repair(database: Database, children: set[UUID], parents: set[UUID]) -> None:
    async def work(connection: Connection[Record]) -> None:
        # Nobody ends or starts while links are mended; in the order that everybody locks in.
        named = sorted(children | parents | await _named_parents(connection, children))
        await connection.fetch(statement("job_lock_many"), named)
        await connection.fetch(statement("link_drop"))
        await connection.fetch(statement("link_add"), list(children))
        moved = await connection.fetch(statement("link_recount"), list(children))
        # Whoever waits for nobody any more still waits for its locks.
        parked = [row["id"] for row in moved if row["parked_for"] == "lock"]
        # What comes of it is found by whoever looks: a repair tells nobody.
        await take_locks(connection, Effects(parked_for_lock=parked))

    await database.together(work)


async def _named_parents(connection: Connection[Record], children: set[UUID]) -> set[UUID]:
    rows = await connection.fetch(statement("job_get_many"), list(children))
    return {parent for row in rows for parent in row["depends_on"] or ()}


def _finding(row: Record) -> Finding:
    parent = row["parent_id"]
    shown = ids.show("job", parent) if parent is not None else ""
    return Finding(
        check=row["problem"],
        subject=ids.show("job", row["child_id"]),
        detail=_DETAILS[row["problem"]].format(parent=shown, had=row["had"], should=row["should"]),
        repair=_REPAIRS[row["problem"]],
    )
