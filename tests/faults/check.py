"""The checker: compares what was promised with what is in the database, job by job.

It reads tables and events and trusts neither; `windlass doctor` looks over the same database, and
must find nothing either.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from uuid import UUID

from windlass.engine.doctor.doctor import doctor
from windlass.engine.jobs.history import read_events_of
from windlass.model.job.event import Event
from windlass.model.job.states import LEGAL_MOVES, TERMINAL
from windlass.store.database import Database, Record

# Rows that nobody answers for, by what is wrong with them.
_UNOWNED = {
    "is running on a node that is not alive": """
        SELECT j.id FROM windlass.job j LEFT JOIN windlass.node n ON n.id = j.node_id
        WHERE j.state = 'running' AND j.callback_until IS NULL
          AND (n.id IS NULL OR n.lease_until <= now())""",
    "waits for another number of parents than it has": """
        SELECT j.id FROM windlass.job j
        WHERE j.waits_for <>
              (SELECT count(*) FROM windlass.dependency d WHERE d.child_id = j.id)""",
    "is waited for but has ended": """
        SELECT d.parent_id FROM windlass.dependency d
        WHERE NOT EXISTS (SELECT FROM windlass.job j WHERE j.id = d.parent_id)""",
    "is unfinished and finished at once": """
        SELECT j.id FROM windlass.job j JOIN windlass.job_history h ON h.id = j.id""",
    "ended more than once": """
        SELECT id FROM windlass.job_history GROUP BY id HAVING count(*) > 1""",
}
# Where a job is after an event; the others do not move it.
_LEADS_TO = {
    "unblocked": "queued",
    "started": "running",
    "released": "queued",
    "retried": "queued",
    "snoozed": "queued",
    "rescued": "queued",
}


async def faults_found(database: Database, accepted: Collection[UUID]) -> list[str]:
    """Sentences, empty when all is well. `accepted` are the jobs that must have ended."""
    found = [fault async for fault in _unowned(database)]
    found += await _miscounted(database)
    told = await read_events_of(database, list(accepted))
    found += [f"{job_id} was accepted and is gone" for job_id in accepted if job_id not in told]
    for job_id, (row, events) in told.items():
        found += [f"{job_id} {problem}" for problem in (*_unfinished(row), *_illegal(events))]
    found += await _misnumbered(database, [row for row, _ in told.values()])
    # G10 over the whole database; what else it looks for must agree with the checks here.
    report = await doctor(database)
    assert report.jobs >= len(told)
    return found + [f"{finding.subject} {finding.detail}" for finding in report.findings]


async def _unowned(database: Database) -> AsyncIterator[str]:
    for what, sql in _UNOWNED.items():
        async with database.side() as connection:
            for row in await connection.fetch(sql):
                yield f"{row[0]} {what}"


async def _miscounted(database: Database) -> list[str]:
    """Counters against COUNT, in one snapshot."""
    async with database.side() as connection:
        rows = await connection.fetch("""
            WITH truth AS (
                SELECT queue, state, count(*) AS n FROM windlass.job GROUP BY 1, 2
                UNION ALL
                SELECT queue, state, count(*) FROM windlass.job_history GROUP BY 1, 2
            ), told AS (
                SELECT c.queue, s.key AS state, sum(s.value::int8) AS n
                FROM (SELECT * FROM windlass.counter
                      UNION ALL SELECT * FROM windlass.counter_delta) c,
                     jsonb_each_text(to_jsonb(c) - 'queue' - 'bytes') s
                GROUP BY 1, 2 HAVING sum(s.value::int8) <> 0
            )
            SELECT queue, state, coalesce(truth.n, 0) AS truth, coalesce(told.n, 0) AS told
            FROM truth FULL JOIN told USING (queue, state)
            WHERE coalesce(truth.n, 0) <> coalesce(told.n, 0)""")
    return [
        f"queue {row['queue']} counts {row['told']} {row['state']} and has {row['truth']}"
        for row in rows
    ]


def _unfinished(row: Record) -> Iterator[str]:
    if row["state"] not in TERMINAL:
        yield f"has not ended: {row['state']}"


def _illegal(events: Sequence[Event]) -> Iterator[str]:
    """Every move in the table of legal moves, and one end."""
    state = events[0].data["state"]
    for event in events[1:]:
        to = event.data["state"] if event.type == "finished" else _LEADS_TO.get(event.type)
        if to is None:
            continue
        if to not in LEGAL_MOVES[state]:
            yield f"went from {state} to {to} ({event.type})"
        state = to


async def _misnumbered(database: Database, rows: Sequence[Record]) -> list[str]:
    """Attempts are numbered without gaps or twins: each ended once, with one recorded outcome."""
    records = await database.read("attempt_list", [row["id"] for row in rows])
    numbers: dict[UUID, list[int]] = {row["id"]: [] for row in rows}
    for record in records:
        numbers[record["job_id"]].append(record["attempt"])
    found = []
    for row in rows:
        # The attempt that ended the job is in the job's own row.
        last = row["attempt"] - (row["outcome"] is not None)
        if sorted(numbers[row["id"]]) != list(range(1, last + 1)):
            found.append(f"{row['id']} has attempts {sorted(numbers[row['id']])} before its last")
    return found
