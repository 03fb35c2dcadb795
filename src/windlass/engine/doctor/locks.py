"""Do holds and lines belong to jobs that are still there, and is everybody who waits in a line?"""

from __future__ import annotations

from typing import Final

from windlass import ids
from windlass.engine.doctor.finding import Finding
from windlass.engine.locks.mend import mend_locks
from windlass.store.database import Database, Record

FOUND_MAX: Final = 10_000
_DETAILS: Final = {
    "held": "holds lock {lock!r} although it has ended",
    "in_line": "stands in line for lock {lock!r} although it does not wait for it",
    "in_no_line": "waits for its locks and stands in no line",
}
_REPAIRS: Final = {
    "held": "release it and let the next in line go",
    "in_line": "take it out of the line",
    "in_no_line": "put it into line",
}


async def check_locks(database: Database, *, repair: bool) -> list[Finding]:
    found = await database.read("lock_strays", FOUND_MAX)
    findings = [_finding(row) for row in found]
    if findings and repair:
        await mend_locks(database)
        left = {_key(row) for row in await database.read("lock_strays", FOUND_MAX)}
        for finding, row in zip(findings, found, strict=True):
            finding.is_repaired = _key(row) not in left
    return findings


def _key(row: Record) -> tuple[object, ...]:
    return row["problem"], row["lock"], row["job_id"]


def _finding(row: Record) -> Finding:
    problem = row["problem"]
    return Finding(
        check=f"lock_{problem}",
        subject=ids.show("job", row["job_id"]),
        detail=_DETAILS[problem].format(lock=row["lock"]),
        repair=_REPAIRS[problem],
    )
