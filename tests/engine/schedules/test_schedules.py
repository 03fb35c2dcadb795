"""Schedules are put, changed, paused and deleted, and no instant is lost or doubled by it."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

import pytest

from tests.engine.executions.flow import noop
from tests.engine.hands import patiently, sql
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
)
from windlass import ids
from windlass.engine.doctor.doctor import doctor
from windlass.engine.doctor.ledger import check_ledger
from windlass.engine.executions.workflows import publish
from windlass.engine.schedules.ledger import forget_firings
from windlass.engine.schedules.schedule import ScheduleFilter
from windlass.engine.schedules.schedules import (
    EditionConflict,
    delete_schedule,
    list_schedules,
    pause_many,
    put_schedule,
    read_schedule,
    resume_many,
)
from windlass.engine.schedules.trigger import trigger
from windlass.errors import NotFound
from windlass.model.workflow.read import trust_definition
from windlass.store.database import Database

MINUTE = timedelta(minutes=1)
HOURLY = {"cron": "0 * * * *"}


async def test_a_new_schedule_has_its_next_instant_and_an_edition(database: Database) -> None:
    [clock] = await database.run("database_now")
    schedule, is_new, _ = await put_schedule(database, draft(tags=("a", "b"), owner="ada"))
    assert is_new
    assert schedule.edition == 1
    assert schedule.next_at is not None
    assert clock["now"] < schedule.next_at <= clock["now"] + 2 * MINUTE
    assert (schedule.tags, schedule.owner, schedule.last_at) == (("a", "b"), "ada", None)
    assert await read_schedule(database, schedule.id) == schedule
    assert await read_schedule(database, "minutely") == schedule


async def test_a_change_raises_the_edition_and_takes_the_next_instant_of_the_new_rule(
    database: Database,
) -> None:
    before = await put(database)
    after, is_new, _ = await put_schedule(database, draft(rule=HOURLY))
    assert (is_new, after.edition, after.id) == (False, 2, before.id)
    assert after.next_at is not None
    assert after.next_at.minute == 0


async def test_what_is_due_by_the_old_rule_is_fired_before_the_new_one_begins(
    database: Database,
) -> None:
    await put(database, misfire="fire_all")
    first = await rewind(database, instants=3)
    changed, _, fired = await put_schedule(database, draft(rule=HOURLY))
    assert [firing.instant for firing in await ledger(database)] == minutes(first, 3)
    assert fired.states.total() == len(await jobs(database)) == 3
    assert changed.next_at is not None
    assert changed.last_at == first + 2 * MINUTE
    assert changed.next_at > changed.last_at
    assert (await doctor(database)).is_well


async def test_an_instant_that_has_come_does_not_wait_for_its_jitter_when_the_rule_changes(
    database: Database,
) -> None:
    await put(database, rule={"cron": "* * * * *", "jitter": "1h"}, misfire="fire_all")
    first = await rewind(database, instants=3)
    await sql(database, "UPDATE windlass.schedule SET fire_at = now() + interval '1 hour'")
    await put_schedule(database, draft(rule=HOURLY))
    assert [firing.instant for firing in await ledger(database)] == minutes(first, 3)


async def test_edits_and_rounds_at_the_same_instant_lose_and_double_nothing(
    database: Database,
) -> None:
    """Both rules have every second; whoever comes first decides it."""
    rules = [{"cron": "* * * * * *"}, {"cron": "*/1 * * * * *"}]
    await put(database, rule=rules[0], misfire="fire_all")

    async def edit() -> None:
        for number in range(40):
            again = draft(rule=rules[number % 2], misfire="fire_all")
            await patiently(partial(put_schedule, database, again))
            await asyncio.sleep(0.05)

    editing = asyncio.create_task(edit())
    while not editing.done():
        await fire(database)
        await asyncio.sleep(0.02)
    await editing
    found = await ledger(database)
    first = found[0].instant
    seconds = [first + timedelta(seconds=n) for n in range(len(found))]
    assert [firing.instant for firing in found] == seconds
    assert len(found) >= 2
    assert len({firing.job_id for firing in found}) == len(await jobs(database)) == len(found)


async def test_a_change_of_an_edition_that_is_not_there_any_more_is_refused(
    database: Database,
) -> None:
    await put(database)
    await put_schedule(database, draft(), edition=1)
    with pytest.raises(EditionConflict, match="is at edition 2, and edition 1 was to be changed"):
        await put_schedule(database, draft(), edition=1)
    with pytest.raises(EditionConflict, match="is at edition 2"):
        await put_schedule(database, draft(), edition=0)
    with pytest.raises(EditionConflict, match="does not exist"):
        await put_schedule(database, draft("other"), edition=3)


async def test_two_who_put_the_same_name_at_once_make_one(database: Database) -> None:
    answers = await asyncio.gather(
        *(patiently(lambda: put_schedule(database, draft())) for _ in range(8))
    )
    assert sorted(is_new for _, is_new, _ in answers) == [False] * 7 + [True]
    assert (await read_schedule(database, "minutely")).edition == 8


async def test_a_list_goes_by_name_and_filter(database: Database) -> None:
    await put(database, "mail.a", tags=("x", "y"))
    await put(database, "mail.b", tags=("x",), job={"kind": "noop", "queue": "mail"})
    await put(database, "tidy", source="import", workflow={"name": "tidy"})
    await pause_many(database, ScheduleFilter(names=("mail.b",)))

    async def names(**where: object) -> list[str]:
        found = await list_schedules(database, 10, where=ScheduleFilter(**where))  # type: ignore[arg-type]
        return [schedule.name for schedule in found]

    assert await names() == ["mail.a", "mail.b", "tidy"]
    assert await names(prefix="mail.") == ["mail.a", "mail.b"]
    assert await names(tags=("x", "y")) == ["mail.a"]
    assert await names(source="import") == ["tidy"]
    assert await names(is_paused=True) == ["mail.b"]
    assert await names(workflow="tidy") == ["tidy"]
    assert await names(queue="mail") == ["mail.b"]
    assert await names(queue="default") == ["mail.a"]
    [second] = await list_schedules(database, 1, "mail.a")
    assert second.name == "mail.b"


async def test_a_paused_schedule_does_not_fire_and_goes_on_where_it_is_resumed(
    database: Database,
) -> None:
    await put(database, "a", misfire="fire_all")
    await put(database, "b", {"cron": "0 0 1 1 *"})
    assert await pause_many(database, ScheduleFilter(prefix="a"), note="moving house") == ["a"]
    assert await pause_many(database, ScheduleFilter(prefix="a")) == []
    paused = await read_schedule(database, "a")
    assert paused.note == "moving house"
    assert paused.paused_at is not None
    first = await rewind(database, "a", instants=4)
    await paused_since(database, "a", first - MINUTE)
    assert (await fire(database)).schedules == 0

    assert await resume_many(database, ScheduleFilter()) == ["a"]
    await fire(database)
    found = await ledger(database, "a")
    assert [firing.state for firing in found] == ["skipped"] * 4
    assert {firing.reason for firing in found} == {"paused: it was paused then"}
    resumed = await read_schedule(database, "a")
    assert (resumed.paused_at, resumed.note) == (None, None)
    assert resumed.next_at is not None
    assert resumed.next_at == found[-1].instant + MINUTE
    assert (await doctor(database)).is_well


async def test_what_was_due_before_a_pause_is_fired_when_it_is_resumed(database: Database) -> None:
    await put(database, misfire="fire_all")
    await pause_many(database, ScheduleFilter())
    first = await rewind(database, instants=5)
    # Due at the very instant of the pause is due before it.
    await paused_since(database, "minutely", first + MINUTE)
    await resume_many(database, ScheduleFilter())
    # And again, before anybody has decided what the first pause left.
    await sql(
        database,
        "UPDATE windlass.schedule SET resumed_at = $1, pauses[2] = $1",
        first + 2.5 * MINUTE,
    )
    await pause_many(database, ScheduleFilter())
    await paused_since(database, "minutely", first + 3.5 * MINUTE)
    await resume_many(database, ScheduleFilter())
    await fire(database)
    found = await ledger(database)
    assert [firing.instant for firing in found] == minutes(first, 5)
    assert [firing.state for firing in found] == ["late", "late", "skipped", "late", "skipped"]
    assert (await doctor(database)).is_well


async def test_a_paused_schedule_that_is_edited_leaves_no_gap_in_its_ledger(
    database: Database,
) -> None:
    await put(database, misfire="fire_all")
    first = await rewind(database, instants=2)
    await fire(database)
    await pause_many(database, ScheduleFilter())
    for _ in range(3):
        await pass_a_minute(database)
    first -= 3 * MINUTE
    await paused_since(database, "minutely", first + 2 * MINUTE)
    _, _, fired = await put_schedule(database, draft(rule=HOURLY, misfire="fire_all"))
    found = await ledger(database)
    assert [firing.instant for firing in found] == minutes(first, 5)
    assert [firing.state for firing in found[2:]] == ["late", "skipped", "skipped"]
    assert fired.states.total() == 3
    changed = await read_schedule(database, "minutely")
    assert changed.paused_at is not None
    assert (await doctor(database)).is_well

    await resume_many(database, ScheduleFilter())
    await sql(database, "DELETE FROM windlass.firing WHERE instant = $1", first + 3 * MINUTE)
    [finding] = (await doctor(database)).findings
    assert (first + 3 * MINUTE).isoformat() in finding.detail, "it looks before the edit, too"


async def test_what_the_retention_took_from_a_ledger_is_no_gap(database: Database) -> None:
    await put(database, "kept", misfire="fire_all")
    await put(database, "rare", misfire="fire_all")
    for name in ("kept", "rare"):
        await rewind(database, name, instants=5)
    await fire(database)
    # Long ago; and of one of them the oldest has made a job that has not ended.
    for table, column in (("schedule", "last_at"), ("firing", "instant"), ("firing", "fired_at")):
        await sql(database, f"UPDATE windlass.{table} SET {column} = {column} - interval '20 days'")
    oldest = (await ledger(database, "kept"))[0]
    await sql(database, "DELETE FROM windlass.job WHERE id <> $1", oldest.job_id)
    assert (await forget_firings(database, 14)) == 9
    assert await check_ledger(database, 14) == []
    assert len(await check_ledger(database, 30)) == 2


async def test_a_rule_that_cannot_be_followed_any_more_is_told_and_hides_no_other(
    database: Database,
) -> None:
    for name in ("a", "b"):
        await put(database, name, misfire="fire_all")
        await rewind(database, name, instants=5)
    await fire(database)
    gone = (await ledger(database, "b"))[2].instant
    await sql(database, "DELETE FROM windlass.firing WHERE instant = $1", gone)
    rule = '{"cron": "* * * * *", "timezone": "Gone/Away"}'
    await sql(database, "UPDATE windlass.schedule SET rule = $1::text::json WHERE name = 'a'", rule)
    found = (await doctor(database)).findings
    assert [(one.check, one.subject) for one in found] == [
        ("rule_unknown", "schedule a"),
        ("ledger_gap", "schedule b"),
    ]
    assert "IANA" in found[0].detail


async def paused_since(database: Database, name: str, since: datetime) -> None:
    await sql(database, "UPDATE windlass.schedule SET paused_at = $2 WHERE name = $1", name, since)


async def test_a_deleted_schedule_is_gone_and_its_jobs_are_not(database: Database) -> None:
    await put(database)
    await rewind(database)
    await fire(database)
    assert (await delete_schedule(database, "minutely")).name == "minutely"
    assert len(await jobs(database)) == 1
    with pytest.raises(NotFound, match="there is no schedule 'minutely'"):
        await read_schedule(database, "minutely")
    unknown = uuid4()
    with pytest.raises(NotFound, match=ids.show("schedule", unknown)):
        await delete_schedule(database, unknown)


async def test_a_trigger_fires_now_and_leaves_the_rule_alone(database: Database) -> None:
    before = await put(database, rule=HOURLY)
    await pause_many(database, ScheduleFilter())
    firing, fired = await trigger(database, "minutely")
    assert (firing.state, firing.is_asked) == ("fired", True)
    assert fired.effects.lines == {("default", 1): 0.0}
    [job] = await jobs(database)
    assert firing.job_id == job["id"]
    after = await read_schedule(database, "minutely")
    assert (after.next_at, after.last_at) == (before.next_at, None)
    [row] = await ledger(database)
    assert (row.job_id, row.is_asked) == (job["id"], True)


async def test_a_trigger_obeys_the_overlap_and_says_so(database: Database) -> None:
    await put(database, rule=HOURLY, overlap="skip")
    first, _ = await trigger(database, "minutely")
    second, _ = await trigger(database, "minutely")
    assert first.job_id is not None
    assert second.job_id is None
    assert second.reason == f"overlap: {ids.show('job', first.job_id)} had not ended"


# -- workflows ---------------------------------------------------------------------------------


async def _workflow(database: Database, **fields: object) -> None:
    definition = {"name": "tidy", "steps": [noop("a")], **fields}
    await publish(database, trust_definition(definition), by=None)


async def _executions(database: Database) -> list[tuple[str, bool]]:
    rows = await sql(
        database, "SELECT state, begun_at FROM windlass.execution ORDER BY created_at, id"
    )
    return [(row["state"], row["begun_at"] is not None) for row in rows]


async def test_a_schedule_starts_executions(database: Database) -> None:
    await _workflow(database)
    await put(database, workflow={"name": "tidy", "input": {}})
    await rewind(database)
    await fire(database)
    [firing] = await ledger(database)
    [row] = await sql(database, "SELECT id FROM windlass.execution")
    assert (firing.execution_id, firing.job_id) == (row["id"], None)
    assert len(await jobs(database)) == 1


async def test_a_workflow_that_is_gone_skips_its_own_instant_and_no_other(
    database: Database,
) -> None:
    await _workflow(database)
    await put(database, "good", workflow={"name": "tidy"})
    await put(database, "gone", workflow={"name": "gone"})
    for name in ("good", "gone"):
        await rewind(database, name)
    await fire(database)
    [firing] = await ledger(database, "gone")
    assert (firing.state, firing.reason) == (
        "skipped",
        "not_found: there is no workflow 'gone'",
    )
    assert [f.execution_id is not None for f in await ledger(database, "good")] == [True]


async def test_a_concurrency_limit_refuses_one_and_not_its_neighbours(database: Database) -> None:
    await _workflow(database, concurrency={"key": "one", "limit": 1, "policy": "fail"})
    for name in ("a", "b", "c"):
        await put(database, name, workflow={"name": "tidy"})
        await rewind(database, name)
    await fire(database)
    found = [(await ledger(database, name))[0] for name in ("a", "b", "c")]
    refused = [firing.reason for firing in found if firing.execution_id is None]
    assert len(refused) == 2
    assert all(reason and reason.startswith("concurrency_limit: ") for reason in refused)
    assert len(await _executions(database)) == 1


async def test_with_queue_one_an_execution_waits_for_the_one_before_it(
    database: Database,
) -> None:
    await _workflow(database)
    await put(database, workflow={"name": "tidy"}, overlap="queue_one")
    await rewind(database)
    await fire(database)
    for _ in range(2):
        await pass_a_minute(database)
        await fire(database)
    assert [f.execution_id is not None for f in await ledger(database)] == [True, True, False]
    assert [begun for _, begun in await _executions(database)] == [True, False]
    await finish_one(database)
    assert [begun for _, begun in await _executions(database)] == [True, True]
    await finish_one(database)
    assert [state for state, _ in await _executions(database)] == ["succeeded"] * 2


async def test_with_queue_one_nothing_waits_for_an_execution_of_another_policy(
    database: Database,
) -> None:
    await _workflow(database)
    await put(database, workflow={"name": "tidy"})
    await rewind(database)
    await fire(database)
    await put(database, workflow={"name": "tidy"}, overlap="queue_one")
    await pass_a_minute(database)
    await rewind(database)
    await fire(database)
    *_, last = await ledger(database)
    assert (last.state, last.reason) == (
        "skipped",
        "overlap: one had not ended that cannot be waited for",
    )


async def test_cancel_running_asks_an_execution_to_end(database: Database) -> None:
    await _workflow(database)
    await put(database, workflow={"name": "tidy"}, overlap="cancel_running")
    await rewind(database)
    await fire(database)
    [before] = await ledger(database)
    await pass_a_minute(database)
    fired = await fire(database)
    assert before.execution_id in fired.effects.upkeep.unheard
    assert len(await _executions(database)) == 2
