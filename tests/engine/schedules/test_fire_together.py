"""Schedules that are alike fire together, and what comes of it is what each alone would make."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.hands import sql
from tests.engine.schedules.scheduling import draft, fire, jobs, put
from windlass.engine.doctor.doctor import doctor
from windlass.engine.jobs.queues import QueueLimits, put_queue
from windlass.engine.schedules.fire_together import group_key
from windlass.store.database import Database

HOURLY = {"cron": "0 0 * * * *"}
ONCE = {"cron": "0 0 1 1 *", "timezone": "Australia/Lord_Howe"}
RICH = {
    "kind": "noop",
    "queue": "reports",
    "priority": "high",
    "input": {"who": "Žofie"},
    "tags": ["a", "b"],
    "timeout": 5,
    "delay": "1m",
    "correlation_id": "c-1",
}
MADE = """
SELECT to_jsonb(j) - ARRAY['id', 'created_at', 'run_at', 'changed_at']
    || jsonb_build_object('delay', round(extract(epoch FROM j.run_at - f.fired_at)),
                          'state of firing', f.state, 'next', s.next_at, 'fire', s.fire_at,
                          'last', s.last_at - f.instant) AS made
FROM windlass.schedule s JOIN windlass.firing f ON f.schedule_id = s.id
JOIN windlass.job j ON j.id = f.job_id
WHERE s.name LIKE $1 ORDER BY s.name
"""


@pytest.fixture(autouse=True)
async def queues(database: Database) -> None:
    """Of a queue that nobody knows yet, which may get a limit, each of them is asked for alone."""
    for name in ("default", "reports"):
        await put_queue(database, name, QueueLimits())


async def make_due(database: Database) -> None:
    """Each of them fell due this very second."""
    await sql(
        database,
        "UPDATE windlass.schedule SET next_at = date_trunc('second', now()),"
        " fire_at = date_trunc('second', now())",
    )


async def send_apart(database: Database, pattern: str) -> None:
    await sql(database, "UPDATE windlass.schedule SET alike = NULL WHERE name LIKE $1", pattern)


async def made(database: Database, pattern: str) -> list[Any]:
    return [row["made"] for row in await sql(database, MADE, pattern)]


async def alikes(database: Database) -> list[Any]:
    return [row["alike"] for row in await sql(database, "SELECT alike FROM windlass.schedule")]


@pytest.mark.parametrize("job", [{"kind": "noop"}, RICH, {"kind": "noop", "key": "only one"}])
async def test_together_they_make_what_each_alone_makes(
    database: Database, job: dict[str, Any]
) -> None:
    for number in range(3):
        for way in ("together", "apart"):
            await put(database, f"{way}{number}", HOURLY, job=job, owner="me", tags=("t",))
    await send_apart(database, "apart%")
    await make_due(database)
    fired = await fire(database)
    assert fired.schedules == 6
    assert len(await made(database, "together%")) + len(await made(database, "apart%")) == len(
        await jobs(database)
    )
    if "key" not in job:
        assert await made(database, "together%") == await made(database, "apart%")
        assert sum(fired.states.values()) == len(fired.late_seconds) == 6
    assert (await doctor(database)).findings == []


async def test_alike_are_those_of_one_rule_job_owner_and_priority(database: Database) -> None:
    await put(database, "a", HOURLY)
    await put(database, "b", HOURLY, tags=("other",), misfire="skip")
    assert len(set(await alikes(database))) == 1
    others = [
        draft("c", ONCE),
        draft("c", HOURLY, job={"kind": "wait"}),
        draft("c", HOURLY, owner="other"),
        draft("c", HOURLY, priority=2),
    ]
    known = {group_key(one) for one in [draft("a", HOURLY), *others]}
    assert None not in known
    assert len(known) == 5


@pytest.mark.parametrize(
    "fields",
    [
        {"rule": {"every": "1m"}},  # counts from when it was made
        {"rule": {"cron": "h * * * *"}},  # goes by its name
        {"rule": {**HOURLY, "jitter": "5s"}},
        {"overlap": "skip"},
        {"workflow": {"name": "w"}},
        {"job": {"kind": "noop", "input": {"at": "${schedule.instant}"}}},
    ],
)
def test_whoever_depends_on_more_goes_its_own_way(fields: dict[str, Any]) -> None:
    assert group_key(draft("a", **{"rule": HOURLY, **fields})) is None


async def test_an_instant_in_the_ledger_makes_nothing_and_its_neighbours_fire(
    database: Database,
) -> None:
    for name in ("a", "b", "c"):
        await put(database, name, HOURLY)
    await make_due(database)
    await sql(
        database,
        "INSERT INTO windlass.firing (schedule_id, instant, state, reason)"
        " SELECT id, next_at, 'skipped', 'by hand' FROM windlass.schedule WHERE name = 'b'",
    )
    assert (await fire(database)).schedules == 3
    assert len(await jobs(database)) == 2
    assert (await fire(database)).schedules == 0


async def test_a_queue_with_a_limit_is_asked_for_each(database: Database) -> None:
    await put_queue(database, "reports", QueueLimits(max_jobs=2))
    for name in ("a", "b", "c"):
        await put(database, name, HOURLY, job={"kind": "noop", "queue": "reports"})
    await make_due(database)
    fired = await fire(database)
    assert len(await jobs(database)) == 2
    assert fired.states["skipped"] == 1


async def test_instants_of_a_pause_are_skipped_beside_others_that_fire(database: Database) -> None:
    for name in ("a", "b"):
        await put(database, name, HOURLY)
    await make_due(database)
    await sql(database, "UPDATE windlass.schedule SET resumed_at = now() WHERE name = 'b'")
    fired = await fire(database)
    assert len(await jobs(database)) == 1
    assert fired.states["skipped"] == 1
