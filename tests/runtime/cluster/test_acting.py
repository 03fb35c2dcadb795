"""What a node does by itself is recorded as done by the part of it that does it."""

from __future__ import annotations

import asyncio
from uuid import UUID

from tests.runtime.cluster.test_leader_duties import tell_nobody
from tests.until import until
from windlass import ids
from windlass.engine.audit.read import AuditFilter, list_entries
from windlass.engine.audit.record import Entry, record_alone
from windlass.engine.cluster.sweep import SweepReport
from windlass.model.identity.actor import Actor, acting, acting_as
from windlass.runtime.cluster.leader_duties import LeaderDuties, LeaderDuty, leader_duty_table
from windlass.runtime.cluster.leadership import Leadership
from windlass.store.database import Database, Record
from windlass.telemetry.metrics import Metrics


def report(removed_keys: int) -> SweepReport:
    return SweepReport(
        checked=3,
        stale=1,
        removed_keys=removed_keys,
        kept=2,
        skipped=0,
        ms=1.0,
        per_second=3.0,
        stale_ids=["node_1"],
        dry_run=False,
        mode="scripted",
    )


async def led(database: Database, *table: LeaderDuty) -> UUID:
    """Lead until each of these duties has been done; returns as whom."""
    node_id = ids.uuid7()
    done: set[str] = set()

    def noted(duty: LeaderDuty) -> LeaderDuty:
        async def do() -> None:
            await duty.do()
            done.add(duty.name)

        return LeaderDuty(name=duty.name, every_seconds=3600.0, do=do, acts_as=duty.acts_as)

    leadership = Leadership(database.url, node_id, lease_seconds=5.0)
    duties = LeaderDuties(
        database=database,
        leadership=leadership,
        metrics=Metrics(),
        table=[noted(duty) for duty in table],
    )
    # Whoever starts a node is no actor of what it does later.
    with acting_as(Actor(kind="user", name="ann")):
        duties.start()
    try:
        await until(lambda: len(done) == len(table), within_seconds=60)
    finally:
        await duties.stop()
    return node_id


async def entries(database: Database, action: str) -> list[Record]:
    return await list_entries(database, AuditFilter(action=(action,)), 10)


async def test_a_duty_acts_as_the_leader(database: Database) -> None:
    async def do() -> None:
        await record_alone(database, Entry(action="queue.pause", name="mail"))

    node_id = await led(database, LeaderDuty(name="test", every_seconds=1.0, do=do))
    [entry] = await entries(database, "queue.pause")
    assert (entry["actor_kind"], entry["actor_name"]) == ("leader", "leader")
    assert (entry["actor_id"], entry["node_id"]) == (ids.show("node", node_id), node_id)
    assert entry["request_id"] is None
    [elected] = await entries(database, "cluster.lead")
    assert elected["actor_id"] == ids.show("node", node_id)


async def test_a_sweep_is_recorded_if_it_removed_something(database: Database) -> None:
    found = [report(0), report(5)]

    async def sweep() -> SweepReport:
        return found.pop(0)

    [duty] = [
        row for row in leader_duty_table(database, sweep, tell_nobody) if row.acts_as == "sweep"
    ]
    node_id = await led(database, duty)
    assert await entries(database, "cluster.sweep") == []
    node_id = await led(database, duty)
    [entry] = await entries(database, "cluster.sweep")
    assert (entry["actor_kind"], entry["actor_id"]) == ("sweep", ids.show("node", node_id))
    assert entry["count"] == 5
    assert "node_1" in entry["after"]


async def test_the_duty_that_forgets_goes_by_the_setting(database: Database) -> None:
    await record_alone(database, Entry(action="queue.pause", name="old"))
    # Beside what the migrations have left, one an entry.
    count = len(await list_entries(database, AuditFilter(), 100))
    async with database.side(readonly=False) as connection:
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute("UPDATE windlass.audit_entry SET at = at - interval '50 days'")
    for days, left in ((51, 1), (49, 0)):
        table = leader_duty_table(database, None, tell_nobody, audit_days=days)
        [duty] = [row for row in table if row.name == "forget audit entries"]
        await led(database, duty)
        assert len(await entries(database, "queue.pause")) == left
    [entry] = await entries(database, "audit.forget")
    assert (entry["actor_kind"], entry["count"]) == ("leader", count)


async def test_a_task_keeps_the_actor_that_began_it() -> None:
    with acting_as(Actor(kind="user", name="ann")):
        begun = asyncio.create_task(_who())
    assert (await begun).name == "ann"
    assert acting().kind == "node"


async def _who() -> Actor:
    return acting()
