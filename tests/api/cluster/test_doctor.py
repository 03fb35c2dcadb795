"""The doctor finds what was broken on purpose, says what it would do, and mends what is safe."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeAlias

import asyncpg
import pytest

from tests.api.acting_node import ActingNode
from tests.api.served import Served
from windlass import ids
from windlass.engine.doctor.doctor import doctor
from windlass.model.identity.actor import Actor, acting_as
from windlass.model.job.outcome import Failed, Snoozed

LINK = "INSERT INTO windlass.dependency SELECT"
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture
async def sql(api: Served) -> AsyncIterator[Connection]:
    """A hand that reaches behind the engine's back."""
    connection: Connection = await asyncpg.connect(api.database.url)
    yield connection
    await connection.close()


async def found(api: Served, *, repair: bool = False) -> dict[str, int]:
    return dict((await doctor(api.database, repair=repair)).counts)


async def test_a_database_that_lived_through_everything_is_well(
    api: Served, node: ActingNode
) -> None:
    parent = await api.submit(queue="parents", retry={"max_attempts": 3, "initial": 0})
    await api.submit(depends_on=[parent["id"]])
    await api.submit(depends_on=[parent["id"]], on_parent_failure="fail")
    await api.submit(depends_on=[parent["id"]], on_parent_failure="run")
    cancelled = await api.submit(delay="1h")
    await api.post(f"/v1/jobs/{cancelled['id']}/cancel")
    await api.submit(kind="wait", input={"seconds": 1})
    await node.run(Snoozed(0))
    await node.run(Failed("x", "y"))
    await node.bury()
    await api.post("/v1/dead-letters/replay", {"filter": {}})
    await node.claim(1)
    seen: list[int] = []
    report = await doctor(api.database, on_progress=seen.append)
    assert report.is_well, report.findings
    assert report.jobs == seen[-1] == 6


@pytest.mark.parametrize(
    "broken",
    [
        "UPDATE windlass.job SET attempt = 7",
        "UPDATE windlass.job SET snoozes = 3",
        "DELETE FROM windlass.attempt",
        "UPDATE windlass.attempt SET next_run_at = next_run_at + interval '1 second'",
        "UPDATE windlass.event SET type = 'sung' WHERE type = 'promoted'",
        "DELETE FROM windlass.event WHERE job_id IS NOT NULL",
    ],
)
async def test_a_row_that_its_events_do_not_tell_is_reported(
    api: Served, node: ActingNode, sql: Connection, broken: str
) -> None:
    made = await api.submit(retry={"initial": "1h"})
    await node.run(Failed("x", "y"))
    if "attempt SET" not in broken:  # a promotion would hide what happened before it
        await api.post(f"/v1/jobs/{made['id']}/promote")
    assert await found(api) == {}
    await sql.execute(broken)
    report = await doctor(api.database, repair=True)
    assert dict(report.counts) == {"fold": 1}
    assert report.findings[0].subject == made["id"]
    assert report.findings[0].repair is None
    assert not report.is_well


async def test_a_running_job_whose_node_is_gone_is_reported(
    api: Served, node: ActingNode, sql: Connection
) -> None:
    made = await api.submit()
    await node.claim()
    await sql.execute("UPDATE windlass.node SET lease_until = now() - interval '1 second'")
    assert await found(api) == {}  # a rescue will come by
    await sql.execute("UPDATE windlass.node SET lease_until = now() - interval '1 minute'")
    report = await doctor(api.database, repair=True)
    assert [(f.check, f.subject) for f in report.findings] == [("unowned", made["id"])]
    await sql.execute("DELETE FROM windlass.node")
    assert await found(api) == {"unowned": 1}


@pytest.mark.parametrize(
    ("broken", "checks"),
    [
        ("UPDATE windlass.job SET waits_for = 5 WHERE state = 'blocked'", {"waits_for"}),
        ("DELETE FROM windlass.dependency", {"link_missing", "waits_for"}),
        ("UPDATE windlass.job SET has_children = false", {"parent_unmarked"}),
        (
            f"{LINK} gen_random_uuid(), child_id FROM windlass.dependency",
            {"parent_gone", "waits_for"},
        ),
        (
            f"{LINK} parent_id, gen_random_uuid() FROM windlass.dependency",
            {"child_gone"},
        ),
    ],
)
async def test_broken_links_are_reported_and_mended(
    api: Served, node: ActingNode, sql: Connection, broken: str, checks: set[str]
) -> None:
    parent = await api.submit()
    child = await api.submit(depends_on=[parent["id"]])
    assert await found(api) == {}
    await sql.execute(broken)
    report = await doctor(api.database)
    assert set(report.counts) == checks
    assert all(finding.repair and not finding.is_repaired for finding in report.findings)
    assert not report.is_well
    report = await doctor(api.database, repair=True)
    assert report.is_well
    assert await found(api) == {}
    await node.run()
    assert (await api.get(f"/v1/jobs/{child['id']}"))["state"] == "queued"


async def test_a_child_that_was_never_told_is_queued_when_its_parents_ended_well(
    api: Served, node: ActingNode, sql: Connection
) -> None:
    parent = await api.submit()
    child = await api.submit(depends_on=[parent["id"]])
    await sql.execute("DELETE FROM windlass.dependency")
    await node.run()
    assert (await api.get(f"/v1/jobs/{child['id']}"))["state"] == "blocked"
    report = await doctor(api.database, repair=True)
    assert report.is_well
    assert (await api.get(f"/v1/jobs/{child['id']}"))["state"] == "queued"
    assert await found(api) == {}


async def test_a_child_that_was_never_told_waits_for_its_locks_like_any_other(
    api: Served, node: ActingNode, sql: Connection
) -> None:
    parent = await api.submit()
    child = await api.submit(depends_on=[parent["id"]], locks=["till"])
    await sql.execute("DELETE FROM windlass.dependency")
    await node.run()
    holder = await api.submit(locks=["till"])
    assert (await doctor(api.database, repair=True)).is_well
    found_now = await sql.fetch("SELECT id, state, parked_for FROM windlass.job ORDER BY id")
    assert [(row["state"], row["parked_for"]) for row in found_now] == [
        ("queued", "lock"),
        ("queued", None),
    ]
    [held] = await node.claim(5)
    assert ids.show("job", held.job_id) == holder["id"], "the child has no lock, and is not claimed"
    assert await found(api) == {}
    assert await sql.fetchval("SELECT count(*) FROM windlass.lock_wait") == 1
    assert (await api.get(f"/v1/jobs/{child['id']}"))["state"] == "queued"


async def test_a_child_whose_parent_failed_untold_is_left_to_somebodys_decision(
    api: Served, node: ActingNode, sql: Connection
) -> None:
    parent = await api.submit()
    await api.submit(depends_on=[parent["id"]])
    await sql.execute("DELETE FROM windlass.dependency")
    await node.bury()
    report = await doctor(api.database, repair=True)
    assert dict(report.counts) == {"waits_for": 1}
    assert (report.is_well, report.findings[0].repair) == (False, None)


async def test_counters_that_lie_are_reported_and_put_right(
    api: Served, node: ActingNode, sql: Connection
) -> None:
    await api.submit(queue="mail", input={"n": 1})
    await node.bury()
    await api.submit(queue="mail", input={"n": 1})
    await sql.execute(
        "INSERT INTO windlass.counter_delta (queue, dead, bytes) VALUES ('mail', 5, 9)"
    )
    await sql.execute("INSERT INTO windlass.counter_delta (queue, queued) VALUES ('ghost', -2)")
    report = await doctor(api.database)
    assert {(f.subject, f.detail) for f in report.findings} == {
        ("mail", "dead is counted as 6 and is 1"),
        ("mail", "bytes is counted as 16 and is 7"),
        ("ghost", "queued is counted as -2 and is 0"),
    }
    assert (await doctor(api.database, repair=True)).is_well
    assert await found(api) == {}
    assert (await api.get("/v1/stats"))["totals"]["dead"] == 1


async def test_who_has_it_mend_something_is_in_the_audit_log(api: Served) -> None:
    await found(api)
    assert (await api.get("/v1/audit?action=database.repair"))["data"] == []
    with acting_as(lambda: Actor(kind="cli", name="root@here")):
        await found(api, repair=True)
    [entry] = (await api.get("/v1/audit?action=database.repair"))["data"]
    assert (entry["actor_kind"], entry["actor_name"]) == ("cli", "root@here")
