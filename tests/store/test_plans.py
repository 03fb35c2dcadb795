"""Plans of the hot path, whatever the statistics say of tables that are empty one minute and full
the next: every statement enters the large tables by a key, never by all of an index.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from tests.engine.hands import counted, register, several, sql, submit_one, take
from windlass.engine.jobs.finish import finish
from windlass.model.job.outcome import Failed, Succeeded
from windlass.model.job.settle import settle
from windlass.store.database import Database
from windlass.store.statements import statement

FOLDER: Final = Path(__file__).parents[2] / "src" / "windlass" / "store" / "sql"
LARGE: Final = ("job", "dependency", "execution", "job_key", "idempotency")
# Who looks at everything.
DOCTOR: Final = {
    "backup_contents",
    "counter_check",
    "job_scan",
    "job_unowned",
    "link_add",
    "link_check",
    "link_drop",
    "link_recount",
    "lock_strays",
}
# Whose look at a whole index is meant.
WHOLE: Final = DOCTOR | {
    # A page of a list, from its start.
    "execution_list",
    "job_list",
    "job_list_unfinished",
    # What waits for a person at a screen, and the events of a moment: all that run are looked at.
    "awaited_why",
    "task_list",
    "event_of_execution",
    "event_window",
    "job_why",
    # All that run, by their own index, which is not that of all jobs.
    "job_held_by_lost",
    # Once, when somebody is given a quota of bytes: whose the jobs are that wait already.
    "quota_find_many",
    # As far as a LIMIT, through an index of the few that are looked for.
    "execution_unheard_find",
    "job_lock_solo",
    "line_peek",
    "turn_due_find",
    "untended_find",
    # Housekeeping, on other connections, without these pins.
    "firing_forget",
    "parent_awaited",
}


async def plan_of(connection: Any, name: str) -> dict[str, Any]:
    """The plan that is kept for a statement: made without knowing any value."""
    partition = f"windlass.{name.removesuffix('_thin')}_rest"
    text = statement(name).replace("{where}", "true").replace("{partition}", partition)
    text = text.replace("{walk}", "id > '00000000-0000-0000-0000-000000000000'")
    bare = re.sub("--.*", "", text)
    count = max((int(number) for number in re.findall(r"\$(\d+)", bare)), default=0)
    await connection.execute(f"PREPARE looked_at AS {text}")
    call = f"looked_at({', '.join(['NULL'] * count)})" if count else "looked_at"
    plan = await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE {call}")
    await connection.execute("DEALLOCATE looked_at")
    found: dict[str, Any] = json.loads(plan)[0]["Plan"]
    return found


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


def is_whole(node: dict[str, Any]) -> bool:
    """Whether it reads all of a large table, or all of one of its indexes."""
    return node.get("Relation Name") in LARGE and not (
        "Index Cond" in node or "TID Cond" in node or "Scan" not in node["Node Type"]
    )


QUEUED = """
INSERT INTO windlass.job (id, run_at, max_attempts, priority, queue, kind, state, input)
SELECT gen_random_uuid(), now(), 2, 1, 'default', 'noop', 'queued', '{}'
FROM generate_series(1, 5000)
"""


async def forget_all(database: Database) -> None:
    """What autovacuum leaves behind after a rest: statistics of empty tables, whose primary keys
    are large and whose partial indexes are not.
    """
    await sql(database, QUEUED)
    await sql(database, "DELETE FROM windlass.job")
    for table in LARGE:
        await sql(database, f"VACUUM ANALYZE windlass.{table}")


async def test_no_statement_reads_a_large_table_whole_because_it_was_empty_once(
    database: Database,
) -> None:
    await forget_all(database)
    names = sorted(path.stem for path in FOLDER.rglob("*.sql"))
    wrong: dict[str, list[str]] = {}
    async with database.hot() as connection:
        for name in names:
            plan = await plan_of(connection, name)
            scans = [
                f"{node['Node Type']} of {node['Relation Name']} by {node.get('Index Name')}"
                for node in nodes(plan)
                if is_whole(node)
            ]
            if scans and name not in WHOLE:
                wrong[name] = scans
        rescued = json.dumps(await plan_of(connection, "job_held_by_lost"))
    assert not wrong, json.dumps(wrong, indent=1)
    assert set(names) >= WHOLE, "no statement of this name any more"
    assert "job_held" in rescued
    assert "job_pkey" not in rescued


def in_loops(plan: dict[str, Any], *, is_repeated: bool = False) -> Iterator[dict[str, Any]]:
    """What is done again for each row of something else."""
    if is_repeated:
        yield plan
    for below in plan.get("Plans", []):
        role = below["Parent Relationship"]
        again = role == "SubPlan" or (role == "Inner" and plan["Node Type"] == "Nested Loop")
        # A hash is filled once, and so is what has a name of its own.
        once = role == "InitPlan" or plan["Node Type"] in ("Hash", "Materialize")
        yield from in_loops(below, is_repeated=not once and (again or is_repeated))


async def test_no_statement_reads_a_large_table_whole_for_each_row_of_another(
    database_url: str,
) -> None:
    """Autovacuum may look while thousands of rows are not committed: many pages, none alive.

    In a database of its own: what the other tests left would be in the statistics, too.
    """
    async with several(database_url, 1) as [database]:
        await _check_every_plan(database)


async def _check_every_plan(database: Database) -> None:
    async with database.side() as writer:
        inserting = writer.transaction()
        await inserting.start()
        await writer.execute(QUEUED)
        await writer.execute(
            "INSERT INTO windlass.dependency SELECT gen_random_uuid(), id FROM windlass.job"
        )
        for table in LARGE:
            await sql(database, f"ANALYZE windlass.{table}")
        await inserting.commit()
    every = {path.stem for path in FOLDER.rglob("*.sql")}
    wrong: dict[str, list[str]] = {}
    # The doctor asks beside the hot path, without its pins.
    for lend, names in ((database.hot, every), (database.side, DOCTOR)):
        async with lend() as connection:
            for name in sorted(names):
                scans = [
                    f"{node['Node Type']} of {node['Relation Name']} by {node.get('Index Name')}"
                    for node in in_loops(await plan_of(connection, name))
                    if is_whole(node)
                ]
                if scans:
                    wrong[name] = scans
    assert not wrong, json.dumps(wrong, indent=1)


RUNNING = """
INSERT INTO windlass.job (id, run_at, max_attempts, priority, queue, kind, state, input, node_id,
                          claim_id, started_at, attempt)
SELECT gen_random_uuid(), now(), 2, 1, 'default', 'noop', 'running', '{}', $1, $2, now(), 1
FROM generate_series(1, $3::int4) RETURNING id
"""


async def test_a_burst_after_a_rest_ends_as_quickly_as_any_other(database: Database) -> None:
    node, claim_id = await register(database), uuid4()
    await submit_one(database)
    [first] = await take(database, node)
    await finish(database, node, [settle(first, Succeeded(), 0.5)])
    await forget_all(database)
    # The plans that are kept from now on are made for the empty table.
    await submit_one(database, max_attempts=2)
    [again] = await take(database, node)
    await finish(database, node, [settle(again, Failed("once", "more"), 0.5)])
    await sql(database, "UPDATE windlass.job SET run_at = now()")
    [last] = await take(database, node)
    await finish(database, node, [settle(last, Succeeded(), 0.5)])

    rows = await sql(database, RUNNING, node, claim_id, 24_000)
    burst = [replace(last, job_id=row["id"], number=1, claim_id=claim_id) for row in rows]
    # Read by all of an index for each batch, these took minutes.
    async with asyncio.timeout(60):
        for start in range(0, len(burst), 1_000):
            batch = burst[start : start + 1_000]
            how = Succeeded() if start % 2_000 else Failed("once", "more")
            await finish(database, node, [settle(attempt, how, 0.5) for attempt in batch])
    assert (await counted(database))["default"] == {"succeeded": 12_002, "queued": 12_000}
