"""A round of firing: each due instant is decided once, in one commit with what it makes."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from tests.engine.hands import register, sql, take, until_sql
from tests.engine.schedules.scheduling import (
    draft,
    finish_one,
    fire,
    jobs,
    ledger,
    minutes,
    pass_a_minute,
    put,
    rewind,
    states,
)
from windlass import ids
from windlass.engine.audit.read import AuditFilter, list_entries
from windlass.engine.doctor.doctor import doctor
from windlass.engine.jobs.admission import QueueDefaults
from windlass.engine.jobs.queues import QueueLimits, put_queue
from windlass.engine.schedules.decide import FireOptions
from windlass.engine.schedules.fire import fire_due
from windlass.engine.schedules.ledger import count_silent, forget_firings
from windlass.engine.schedules.schedules import put_schedule, read_schedule
from windlass.model.schedule.decision import Misfire
from windlass.store.database import Database

MINUTE = timedelta(minutes=1)


async def test_a_due_instant_makes_a_job_a_row_and_the_next_instant(database: Database) -> None:
    await put(database)
    instant = await rewind(database)
    fired = await fire(database)
    assert (fired.schedules, sum(fired.states.values())) == (1, 1)
    assert fired.effects.lines == {("default", 1): 0.0}
    [firing] = await ledger(database)
    [job] = await jobs(database)
    assert (firing.instant, firing.job_id) == (instant, job["id"])
    assert firing.state in ("fired", "late")
    schedule = await read_schedule(database, "minutely")
    assert (schedule.last_at, schedule.next_at) == (instant, instant + MINUTE)


async def test_nothing_is_fired_before_its_time_nor_twice(database: Database) -> None:
    await put(database, rule={"cron": "0 0 1 1 *"})
    assert (await fire(database)).schedules == 0
    await put(database)
    await rewind(database)
    assert (await fire(database)).schedules == 1
    assert (await fire(database)).schedules == 0
    assert len(await jobs(database)) == 1


async def test_believing_leaders_fire_once(database: Database) -> None:
    await put_queue(database, "default", QueueLimits())  # or one makes it, and others wait
    for number in range(50):
        await put(database, f"s{number:02}")
    await rewind(database, "s%", instants=3)  # at once: of each the same instants are due
    other = Database(database.url)
    await other.open()
    try:
        rounds = [
            fire_due(which, FireOptions(), 7) for _ in range(20) for which in (database, other)
        ]
        await asyncio.gather(*rounds)
    finally:
        await other.close()
    assert len(await jobs(database)) == 50
    rows = await sql(database, "SELECT state, count(*) AS n FROM windlass.firing GROUP BY 1")
    counted = {row["state"]: row["n"] for row in rows}
    assert counted.pop("coalesced") == 100
    assert sum(counted.values()) == 50


async def test_a_row_that_is_there_already_makes_nothing(database: Database) -> None:
    """Even if a schedule were moved back by hand: the constraint decides."""
    await put(database)
    await rewind(database)
    await fire(database)
    await rewind(database)
    assert (await fire(database)).schedules == 1
    assert len(await jobs(database)) == 1
    assert len(await ledger(database)) == 1


@pytest.mark.parametrize(
    ("misfire", "wanted"),
    [
        ("fire_once", ["coalesced"] * 4 + ["made"]),
        ("fire_all", ["made"] * 5),
        ("skip", ["skipped"] * 4 + ["made or skipped"]),
    ],
)
async def test_after_an_outage_each_policy_is_obeyed_and_the_next_instant_is_due(
    database: Database, misfire: Misfire, wanted: list[str]
) -> None:
    await put(database, misfire=misfire)
    first = await rewind(database, instants=5)
    await fire(database)
    found = await ledger(database)
    assert [firing.instant for firing in found] == minutes(first, 5)
    shown = {"fired": "made", "late": "made"}
    for firing, want in zip(found, wanted, strict=True):
        assert shown.get(firing.state, firing.state) in want
        assert (firing.job_id is None) == (firing.reason is not None)
    assert len(await jobs(database)) == sum(firing.job_id is not None for firing in found)
    schedule = await read_schedule(database, "minutely")
    assert schedule.next_at == first + 5 * MINUTE
    assert (await doctor(database)).is_well


async def test_instants_too_many_to_be_named_are_counted_and_the_doctor_is_content(
    database: Database,
) -> None:
    await put(database)
    first = await rewind(database, instants=50_000)
    await fire(database)
    found = await ledger(database)
    assert len(found) < 20_000
    assert sum(firing.stands_for for firing in found) == 50_000
    assert found[-1].instant == first + 49_999 * MINUTE
    assert (await doctor(database)).is_well


async def test_the_doctor_finds_an_instant_without_a_row(database: Database) -> None:
    await put(database, misfire="fire_all")
    first = await rewind(database, instants=5)
    await fire(database)
    lost = first + 2 * MINUTE
    await sql(database, "DELETE FROM windlass.firing WHERE instant = $1", lost)
    [finding] = (await doctor(database)).findings
    assert (finding.check, finding.subject) == ("ledger_gap", "schedule minutely")
    assert lost.isoformat() in finding.detail


async def test_a_full_queue_makes_a_skipped_row_with_the_reason_and_no_job(
    database: Database,
) -> None:
    await put_queue(database, "small", QueueLimits(max_jobs=1))
    for name in ("a", "b"):
        await put(database, name, job={"kind": "noop", "queue": "small"})
        await rewind(database, name)
    await put(database, "c")
    await rewind(database, "c")
    await fire(database)
    found = [(await ledger(database, name))[0] for name in ("a", "b", "c")]
    assert sorted(firing.job_id is not None for firing in found) == [False, True, True]
    [refused] = [firing for firing in found if firing.job_id is None]
    assert refused.state == "skipped"
    assert (refused.reason or "").startswith("queue_full: queue 'small' holds 1 of 1 jobs")
    assert len(await jobs(database)) == 2


async def test_the_owners_default_limits_hold_for_schedules(database: Database) -> None:
    for name in ("a", "b"):
        await put(database, name)
        await rewind(database, name)
    await fire_due(database, FireOptions(queue_defaults=QueueDefaults(max_jobs=1)))
    [first], [second] = await ledger(database, "a"), await ledger(database, "b")
    assert sorted([first.state == "skipped", second.state == "skipped"]) == [False, True]


async def test_a_unique_key_that_is_taken_coalesces(database: Database) -> None:
    for name in ("a", "b"):
        await put(database, name, job={"kind": "noop", "key": "only"})
        await rewind(database, name)
        await fire(database)
    [first], [second] = await ledger(database, "a"), await ledger(database, "b")
    assert first.job_id is not None
    assert (second.state, second.job_id) == ("coalesced", None)
    assert second.reason == f"key: {ids.show('job', first.job_id)} has its unique key"


async def test_a_job_gets_what_its_schedule_says(database: Database) -> None:
    job = {"kind": "http", "input": {"url": "http://example.org/x"}, "queue": "mail", "tags": ["t"]}
    await put(database, job=job, priority=3, owner="ada")
    await rewind(database)
    fired = await fire(database)
    assert fired.effects.lines == {("mail", 3): 0.0}
    [row] = await sql(
        database,
        "SELECT kind, queue, priority, owner, tags, target, max_attempts FROM windlass.job",
    )
    assert tuple(row) == ("http", "mail", 3, "ada", ["t"], "example.org:80", 10)


async def test_a_rule_that_cannot_be_followed_is_put_off_and_its_neighbours_fire(
    database: Database,
) -> None:
    for name in ("bad", "good"):
        await put(database, name)
        await rewind(database, name)
    gone = '{"cron": "* * * * *", "timezone": "Mars/Olympus"}'
    await sql(database, "UPDATE windlass.schedule SET rule = $1 WHERE name = 'bad'", gone)
    await fire(database)
    assert len(await jobs(database)) == 1
    bad = await read_schedule(database, "bad")
    assert (bad.note or "").startswith("its rule cannot be followed: /timezone: must be a time")
    assert await count_silent(database) == 1

    # The zone is there again, and the schedule makes up for what it missed.
    mended = '{"cron": "* * * * *"}'
    await sql(
        database,
        "UPDATE windlass.schedule SET rule = $1, fire_at = next_at WHERE name = 'bad'",
        mended,
    )
    await fire(database)
    assert len(await jobs(database)) == 2
    assert (await read_schedule(database, "bad")).note is None
    assert await count_silent(database) == 0


async def test_one_that_cannot_be_stored_is_found_and_put_off(database: Database) -> None:
    for name in ("a", "b", "c"):
        await put(database, name)
        await rewind(database, name)
    await sql(
        database,
        "UPDATE windlass.schedule SET fire_at = fire_at - interval '1 second', priority = 99"
        " WHERE name = 'b'",
    )
    told = [await fire(database) for _ in range(3)]
    assert sum(fired.schedules for fired in told) == 2
    assert len(await jobs(database)) == 2
    assert "priority" in ((await read_schedule(database, "b")).note or "")
    assert await count_silent(database) == 1


async def test_overlap_skip_leaves_out_what_falls_due_while_one_goes(database: Database) -> None:
    await put(database, overlap="skip")
    await rewind(database)
    await fire(database)
    [first] = await ledger(database)
    assert first.job_id is not None
    await pass_a_minute(database)
    await fire(database)
    *_, second = await ledger(database)
    assert (second.state, second.reason) == (
        "skipped",
        f"overlap: {ids.show('job', first.job_id)} had not ended",
    )
    await finish_one(database)
    await pass_a_minute(database)
    await fire(database)
    assert (await ledger(database))[-1].job_id is not None


async def test_overlap_queue_one_lets_one_job_wait_for_the_other(database: Database) -> None:
    await put(database, overlap="queue_one")
    await rewind(database)
    await fire(database)
    await pass_a_minute(database)
    await fire(database)
    await pass_a_minute(database)
    await fire(database)
    first, second, third = await ledger(database)
    running, waiting = await jobs(database)
    assert (first.job_id, second.job_id) == (running["id"], waiting["id"])
    assert (waiting["state"], waiting["depends_on"]) == ("blocked", [running["id"]])
    assert third.state == "skipped"
    await finish_one(database)
    assert [row["state"] for row in await jobs(database) if row["id"] == second.job_id] == [
        "queued"
    ]


async def test_overlap_cancel_running_asks_the_running_one_to_stop(database: Database) -> None:
    await put(database, overlap="cancel_running")
    await rewind(database)
    await fire(database)
    node_id = await register(database)
    [attempt] = await take(database, node_id)
    await pass_a_minute(database)
    fired = await fire(database)
    assert fired.effects.stopping == {attempt.job_id: node_id}
    assert len(await jobs(database)) == 2
    await pass_a_minute(database)
    fired = await fire(database)
    waiting = (await ledger(database))[1].job_id
    assert waiting is not None
    assert fired.effects.ended == {waiting: "cancelled"}
    # Each once, and by the schedule: nobody else has asked for it.
    told = await list_entries(database, AuditFilter(action=("job.cancel",)), 10)
    assert [row["object_id"] for row in told] == [
        ids.show("job", one) for one in (waiting, attempt.job_id)
    ]
    assert {(row["actor_kind"], row["actor_name"]) for row in told} == {("schedule", "minutely")}


async def test_the_ledger_is_forgotten_after_its_retention_but_not_what_still_goes(
    database: Database,
) -> None:
    await put(database, misfire="fire_all")
    await rewind(database, instants=3)
    await fire(database)
    await sql(database, "UPDATE windlass.firing SET fired_at = fired_at - interval '40 days'")
    ended = await finish_one(database)
    assert await forget_firings(database, 30) == 1
    assert ended.isdisjoint({firing.job_id for firing in await ledger(database)})
    assert len(await ledger(database)) == 2


async def test_one_whose_time_passed_a_while_ago_is_silent_until_it_fires(
    database: Database,
) -> None:
    await put(database)
    assert await count_silent(database) == 0
    await rewind(database, instants=5)
    assert await count_silent(database) == 1
    await fire(database)
    assert await count_silent(database) == 0


async def test_a_rule_that_has_ended_has_no_next_instant(database: Database) -> None:
    [clock] = await database.run("database_now")
    soon = clock["now"] + timedelta(seconds=6)
    await put(database, rule={"at": soon.isoformat()})
    await until_sql(database, "SELECT clock_timestamp() >= $1", soon, seconds=30)
    await fire(database)
    schedule = await read_schedule(database, "minutely")
    assert (schedule.last_at, schedule.next_at, schedule.fire_at) == (soon, None, None)
    assert await states(database) in (["fired"], ["late"])


async def test_jitter_moves_the_firing_and_not_the_instant(database: Database) -> None:
    schedule, _, _ = await put_schedule(
        database, draft(rule={"cron": "* * * * *", "jitter": "20s"})
    )
    assert schedule.next_at is not None
    assert schedule.fire_at is not None
    assert schedule.next_at <= schedule.fire_at <= schedule.next_at + timedelta(seconds=20)
