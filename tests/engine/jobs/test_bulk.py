"""Bulk operations by hand: batches, cursors, what is held, refused or gone, rates, and aborts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from tests.as_node_role import by_hand
from tests.engine.hands import (
    counted,
    end,
    noop,
    register,
    several,
    sql,
    state,
    states,
    submit,
    submit_one,
    take,
    true_counts,
    until_sql,
    value,
)
from windlass import limits
from windlass.engine.effects import Effects
from windlass.engine.jobs import bulk, bulk_batch
from windlass.engine.jobs.bulk import (
    BulkEnded,
    BulkFull,
    BulkRequest,
    abort_bulk,
    ask,
    check_request,
    filter_from,
    filter_json,
    forget_bulk,
    list_bulk,
    preview,
    read_bulk,
)
from windlass.engine.jobs.bulk_batch import BulkBatches
from windlass.engine.jobs.read import JobFilter
from windlass.errors import NotFound
from windlass.model.job.bulk import BulkOperation, BulkVerb
from windlass.model.job.outcome import Failed
from windlass.model.json import strict
from windlass.store.database import Database


def request(verb: BulkVerb, *, ids: list[UUID] | None = None, **given: Any) -> BulkRequest:
    how = {name: given.pop(name) for name in ("most", "rate") if name in given}
    which = check_request(verb, JobFilter(**given))
    return BulkRequest(verb=verb, which=which, job_ids=ids, **how)


async def work(
    database: Database, operation: BulkOperation, batches: BulkBatches | None = None
) -> BulkOperation:
    """As a node would, without the rests between batches."""
    batches = batches or BulkBatches(database, lambda _: None)
    while True:
        await sql(database, "UPDATE windlass.bulk SET next_at = now() WHERE ended_at IS NULL")
        assert await batches.work()
        now = await read_bulk(database, operation.id)
        if now.ended_at is not None:
            return now


async def do(database: Database, wanted: BulkRequest) -> BulkOperation:
    return await work(database, await ask(database, wanted))


async def bury(database: Database, *drafts: Any) -> list[UUID]:
    made = await submit(database, *drafts)
    node = await register(database)
    await end(database, node, await take(database, node), Failed("boom", "it broke", is_final=True))
    return made


@asynccontextmanager
async def held(database: Database, statement: str, *args: Any) -> AsyncIterator[None]:
    """Rows that somebody else's transaction holds."""
    async with database.side() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.fetch(statement, *args)
        try:
            yield
        finally:
            await transaction.rollback()


HOLD_JOBS = "SELECT FROM windlass.job WHERE id = ANY ($1) FOR UPDATE"


async def test_all_that_match_are_cancelled_and_nothing_else(database: Database) -> None:
    mail = await submit(database, *[noop(queue="mail")] * 5)
    later = await submit(database, *[noop(queue="mail", delay_seconds=60.0)] * 2)
    other = await submit_one(database, queue="hooks")
    told = Effects()
    operation = await ask(database, request("cancel", queue="mail"))
    assert (operation.phase, operation.matching, operation.is_exact) == ("pending", 7, True)
    ended = await work(database, operation, BulkBatches(database, told.add))
    assert (ended.phase, ended.done, ended.refused, ended.gone, ended.held) == ("done", 7, 0, 0, 0)
    assert await states(database, [*mail, *later]) == ["cancelled"] * 7
    assert await state(database, other) == "queued"
    assert set(told.ended) == {*mail, *later}
    assert await counted(database) == await true_counts(database)


async def test_running_jobs_are_asked_to_stop_and_once_only(database: Database) -> None:
    await submit(database, *[noop(queue="mail")] * 3)
    node = await register(database)
    taken = await take(database, node)
    told = Effects()
    operation = await ask(database, request("cancel", queue="mail"))
    ended = await work(database, operation, BulkBatches(database, told.add))
    assert ended.done == 3
    assert set(told.stopping) == {attempt.job_id for attempt in taken}
    again = await do(database, request("cancel", queue="mail"))
    assert (again.matching, again.done) == (0, 0)


@pytest.mark.parametrize("size", [1, 3, 7])
async def test_batches_of_any_size_leave_nobody_out_and_do_nobody_twice(
    database: Database, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_batch, "BULK_BATCH_MAX", size)
    monkeypatch.setattr(bulk_batch, "BULK_WINDOW_MIN", size)
    monkeypatch.setattr(bulk_batch, "BULK_WINDOW_MAX", 2 * size)
    # Every third is meant, so most windows hold fewer than a batch.
    drafts = [noop(queue="mail" if place % 3 == 0 else "hooks") for place in range(40)]
    made = await submit(database, *drafts)
    ended = await do(database, request("cancel", queue="mail"))
    assert ended.done == 14
    found = await states(database, made)
    assert found == ["cancelled" if place % 3 == 0 else "queued" for place in range(40)]
    events = await value(
        database, "SELECT count(*) FROM windlass.job_history WHERE state = 'cancelled'"
    )
    assert events == 14


async def test_what_came_after_it_was_asked_is_left_alone(database: Database) -> None:
    [before] = await submit(database, noop(queue="mail"))
    operation = await ask(database, request("cancel", queue="mail"))
    [after] = await submit(database, noop(queue="mail"))
    assert (await work(database, operation)).done == 1
    assert await states(database, [before, after]) == ["cancelled", "queued"]
    operation = await ask(database, request("replay", queue="mail"))
    await bury(database)
    assert (await work(database, operation)).done == 0


async def test_a_job_that_dies_again_is_not_replayed_twice(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_batch, "BULK_BATCH_MAX", 2)
    dead = await bury(database, *[noop(queue="mail")] * 4)
    operation = await ask(database, request("replay", queue="mail"))
    batches = BulkBatches(database, lambda _: None)
    assert await batches.work()
    node = await register(database)
    again = await take(database, node)
    assert {attempt.job_id for attempt in again} == set(dead[:2])
    await end(database, node, again, Failed("boom", "again", is_final=True))
    ended = await work(database, operation, batches)
    assert ended.done == 4
    assert await states(database, dead) == ["dead", "dead", "queued", "queued"]


async def test_jobs_that_somebody_holds_are_passed_by_and_tried_again(database: Database) -> None:
    made = await submit(database, *[noop(queue="mail")] * 6)
    operation = await ask(database, request("cancel", queue="mail"))
    batches = BulkBatches(database, lambda _: None)
    async with held(database, HOLD_JOBS, made[:2]):
        while (now := await read_bulk(database, operation.id)).round == 0:
            assert await batches.work()
        assert (now.done, now.held, now.phase) == (4, 2, "working")
        rest = await batches.due_seconds()
        assert rest is not None
        assert 0.5 < rest <= limits.BULK_REST_SECONDS
    ended = await work(database, operation, batches)
    assert (ended.done, ended.held, ended.refused) == (6, 0, 0)
    assert await value(database, "SELECT count(*) FROM windlass.bulk_job") == 0


async def test_what_is_held_for_ever_is_refused_in_the_end_and_said(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_batch, "BULK_ROUNDS_MAX", 2)
    made = await submit(database, *[noop(queue="mail")] * 3)
    operation = await ask(database, request("cancel", queue="mail"))
    async with held(database, HOLD_JOBS, made[:1]):
        ended = await work(database, operation)
    assert (ended.phase, ended.done, ended.refused, ended.held) == ("done", 2, 1, 0)
    assert ended.left_jobs == [{"id": f"job_{made[0].hex}", "reason": bulk_batch.HELD}]


async def test_a_child_that_somebody_holds_keeps_only_its_parent(database: Database) -> None:
    parents = await submit(database, *[noop(queue="mail")] * 5)
    child = await submit_one(database, depends_on=(parents[2],), on_parent_failure="skip")
    operation = await ask(database, request("cancel", queue="mail"))
    batches = BulkBatches(database, lambda _: None)
    async with held(database, HOLD_JOBS, [child]):
        while (now := await read_bulk(database, operation.id)).round == 0:
            assert await batches.work()
        assert (now.done, now.held) == (4, 1)
    assert (await work(database, operation, batches)).done == 5
    assert await state(database, child) == "skipped"


async def test_one_job_that_fails_is_counted_and_its_neighbours_are_done(
    database: Database,
) -> None:
    made = await submit(database, *[noop(queue="mail")] * 9)
    refuse = f"""
    CREATE FUNCTION pg_temp.no() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'not this one'; END $$;
    CREATE TRIGGER odd BEFORE DELETE ON windlass.job FOR EACH ROW
    WHEN (OLD.id = '{made[4]}') EXECUTE FUNCTION pg_temp.no()
    """
    async with by_hand(database) as connection:
        await connection.execute(refuse)
        try:
            ended = await do(database, request("cancel", queue="mail"))
        finally:
            await connection.execute("DROP TRIGGER odd ON windlass.job")
    assert (ended.done, ended.refused) == (8, 1)
    [left] = ended.left_jobs
    assert left["id"] == f"job_{made[4].hex}"
    assert "not this one" in left["reason"]


async def test_two_nodes_share_an_operation_and_do_each_job_once(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_batch, "BULK_BATCH_MAX", 10)
    async with several(database_url, 3) as databases:
        await submit(databases[0], *[noop(queue="mail")] * 300)
        operation = await ask(databases[0], request("cancel", queue="mail"))

        async def node(database: Database) -> None:
            batches = BulkBatches(database, lambda _: None)
            while (await read_bulk(database, operation.id)).ended_at is None:
                await batches.work()

        await asyncio.gather(*(node(database) for database in databases))
        ended = await read_bulk(databases[0], operation.id)
        assert (ended.done, ended.gone, ended.refused) == (300, 0, 0)
        assert await counted(databases[0]) == await true_counts(databases[0])


async def test_a_node_that_dies_in_the_middle_of_a_batch_has_done_nothing_of_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_batch, "BULK_BATCH_MAX", 4)
    made = await submit(database, *[noop(queue="mail")] * 8)
    operation = await ask(database, request("cancel", queue="mail"))

    class DiedError(BaseException):
        pass

    async def die(*_: object) -> None:
        raise DiedError

    with monkeypatch.context() as dying:
        dying.setattr(bulk_batch, "_say", die)
        with pytest.raises(DiedError):
            await BulkBatches(database, lambda _: None).work()
    assert await states(database, made) == ["queued"] * 8
    assert (await work(database, operation)).done == 8


async def test_an_abort_is_the_end_and_what_was_done_stays(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_batch, "BULK_BATCH_MAX", 2)
    made = await submit(database, *[noop(queue="mail")] * 6)
    operation = await ask(database, request("cancel", queue="mail"))
    batches = BulkBatches(database, lambda _: None)
    assert await batches.work()
    aborted = await abort_bulk(database, operation.id)
    assert (aborted.phase, aborted.done, aborted.reason) == ("aborted", 2, "aborted")
    assert not await batches.work()
    assert await states(database, made) == ["cancelled"] * 2 + ["queued"] * 4
    with pytest.raises(BulkEnded):
        await abort_bulk(database, operation.id)
    with pytest.raises(NotFound):
        await abort_bulk(database, made[0])


async def test_a_rate_is_kept_by_when_batches_may_begin(database: Database) -> None:
    await submit(database, *[noop(queue="mail")] * 30)
    operation = await ask(database, request("cancel", queue="mail", rate=20.0))
    batches = BulkBatches(database, lambda _: None)
    assert await batches.work()
    assert (await read_bulk(database, operation.id)).done == 10, "half a second's worth"
    assert not await batches.work(), "the next is not due"
    rest = await batches.due_seconds()
    assert rest is not None
    assert 0.2 < rest <= 0.5
    await until_sql(database, "SELECT next_at <= now() FROM windlass.bulk")
    assert await batches.work()
    assert (await read_bulk(database, operation.id)).done == 20


async def test_no_more_are_done_than_were_asked_for(database: Database) -> None:
    await submit(database, *[noop(queue="mail")] * 9)
    ended = await do(database, request("cancel", queue="mail", most=4))
    assert (ended.done, ended.phase, ended.reason) == (4, "done", bulk_batch.ENOUGH)


async def test_dead_letters_are_replayed_and_discarded_by_id_too(database: Database) -> None:
    dead = await bury(database, *[noop(queue="mail")] * 4)
    alive = await submit_one(database, queue="mail", delay_seconds=60.0)
    ended = await do(database, request("replay", ids=[*dead[:2], alive]))
    assert (ended.named, ended.matching, ended.done, ended.gone) == (3, 2, 2, 1)
    assert await states(database, dead) == ["queued", "queued", "dead", "dead"]
    ended = await do(database, request("discard", ids=dead[3:]))
    assert ended.done == 1
    assert await value(database, "SELECT count(*) FROM windlass.job_history") == 1


async def test_named_jobs_that_somebody_holds_are_tried_again(database: Database) -> None:
    dead = await bury(database, *[noop(queue="mail")] * 3)
    operation = await ask(database, request("replay", ids=dead))
    batches = BulkBatches(database, lambda _: None)
    hold = "SELECT FROM windlass.job_history WHERE id = ANY ($1) FOR UPDATE"
    async with held(database, hold, dead[:1]):
        while (now := await read_bulk(database, operation.id)).round == 1:
            assert await batches.work()
        assert (now.done, now.held) == (2, 1)
    ended = await work(database, operation, batches)
    assert (ended.done, ended.held) == (3, 0)


async def test_every_verb_does_what_it_does_for_one_job(database: Database) -> None:
    dead = await bury(database, *[noop(queue="dead")] * 2)
    late = await submit(database, *[noop(queue="late", delay_seconds=60.0)] * 2)
    due = await submit_one(database, queue="late")
    assert (await do(database, request("promote", queue="late"))).done == 2
    due_now = "SELECT count(*) FROM windlass.job WHERE id = ANY ($1) AND run_at <= now()"
    assert await value(database, due_now, [*late, due]) == 3
    assert (await do(database, request("retry", queue="dead", states=("dead",)))).done == 2
    assert await states(database, dead) == ["queued", "queued"]
    await do(database, request("cancel", queue="late"))
    ended = await do(database, request("delete", queue="late", states=("cancelled",)))
    assert ended.done == 3
    assert await value(database, "SELECT count(*) FROM windlass.job_history") == 0


async def test_a_preview_counts_groups_and_samples_and_touches_nothing(
    database: Database,
) -> None:
    await submit(database, *[noop(queue="mail")] * 3, *[noop(queue="hooks", tags=("a",))] * 2)
    found = await preview(database, request("cancel"))
    assert (found.matching, found.is_exact) == (5, True)
    groups = [(row["state"], row["queue"], row["kind"], row["count"]) for row in found.groups]
    assert groups == [("queued", "mail", "noop", 3), ("queued", "hooks", "noop", 2)]
    assert len(found.samples) == 5
    none = await preview(database, request("cancel", queue="nowhere"))
    assert (none.matching, none.is_exact, none.groups, none.samples) == (0, True, [], [])
    assert (await preview(database, request("cancel", tag="a"))).matching == 2
    assert await value(database, "SELECT count(*) FROM windlass.job") == 5
    await bury(database)
    causes = (await preview(database, request("replay"))).groups
    assert [(row["queue"], row["cause"], row["count"]) for row in causes] == [
        ("mail", "boom", 3),
        ("hooks", "boom", 2),
        ("default", "boom", 1),
    ]


async def test_a_preview_says_at_least_when_there_is_too_much_to_look_at(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "BULK_LOOK_MAX", 3)
    await submit(database, *[noop(queue="mail")] * 5)
    found = await preview(database, request("cancel", queue="mail"))
    assert (found.matching, found.is_exact) == (3, False)


async def test_open_operations_are_bounded_and_old_ones_forgotten(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "BULK_OPEN_MAX", 2)
    wanted = request("cancel", queue="mail")
    first, second = await ask(database, wanted), await ask(database, wanted)
    with pytest.raises(BulkFull):
        await ask(database, wanted)
    assert [one.id for one in await list_bulk(database, 10)] == [second.id, first.id]
    await work(database, first)
    assert [one.id for one in await list_bulk(database, 10, phases=["done"])] == [first.id]
    assert await forget_bulk(database) == 0
    await sql(database, "UPDATE windlass.bulk SET ended_at = now() - interval '8 days'" + DONE)
    assert await forget_bulk(database) == 1


DONE = " WHERE phase = 'done'"


async def test_one_that_nobody_can_go_on_with_rests_and_others_have_their_turn(
    database: Database,
) -> None:
    await submit(database, *[noop(queue="mail")] * 2)
    odd = await ask(database, request("cancel", queue="mail"))
    # As a newer release would write it.
    await sql(database, """UPDATE windlass.bulk SET filter = '{"colour": "red"}'""")
    well = await ask(database, request("cancel", queue="mail"))
    batches = BulkBatches(database, lambda _: None)
    with pytest.raises(TypeError):
        await batches.work()
    assert await batches.work()
    assert (await read_bulk(database, well.id)).done == 2
    assert (await read_bulk(database, odd.id)).phase == "pending"


async def test_ten_thousand_are_cancelled_in_a_few_batches(database: Database) -> None:
    await submit(database, *[noop(queue="mail")] * 10_000)
    batches, count = BulkBatches(database, lambda _: None), 0
    operation = await ask(database, request("cancel", queue="mail"))
    while (await read_bulk(database, operation.id)).ended_at is None:
        assert await batches.work()
        count += 1
    assert (await read_bulk(database, operation.id)).done == 10_000
    assert count <= 12
    assert await counted(database) == await true_counts(database)


async def test_a_filter_that_nothing_matches_looks_at_each_job_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_batch, "BULK_WINDOW_MAX", 1_000)
    await submit(database, *[noop(queue="mail")] * 5_000)
    ended = await do(database, request("cancel", tag="nobody has it"))
    assert (ended.looked, ended.done, ended.phase) == (5_000, 0, "done")


def test_a_filter_keeps_its_values_through_the_database() -> None:
    which = JobFilter(
        states=("dead",),
        queue="mail",
        execution_id=UUID(int=7),
        created_after=datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC),
        finished_before=datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC),
    )
    assert filter_from(strict.parse(filter_json(which).encode())) == which
