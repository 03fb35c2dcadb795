"""Parking jobs for their targets, and letting them go."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from tests.engine.executions.flow import Flow
from tests.engine.executions.flow import noop as step
from tests.engine.hands import (
    end,
    noop,
    patiently,
    register,
    row,
    several,
    sql,
    state,
    submit,
    take,
    take_one,
    value,
)
from tests.model.job.test_target import ADDRESSES, SPELLINGS, STRANGE
from windlass.engine.doctor.folds import check_folds
from windlass.engine.executions.control import pause_execution
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.claim import park
from windlass.engine.jobs.queues import QueueLimits, pause_queue, put_queue, resume_queue
from windlass.engine.targets.unpark import (
    bury_gone,
    close_breaker,
    disable_gone,
    open_breaker,
    read_changes,
    read_exceptional,
    unpark,
)
from windlass.limits import TARGET_GONE_SECONDS
from windlass.model.job.draft import Draft
from windlass.model.job.outcome import Failed
from windlass.store.database import BadValue, Database

HOST = "shop.example"


def hook(**fields: Any) -> Draft:
    return noop(target=fields.pop("target", HOST), **fields)


async def park_all(database: Database, reason: str = "breaker") -> list[UUID]:
    """Claim whatever is due and park it."""
    node = await register(database)
    attempts = await take(database, node)
    rows = await park(database, attempts, [reason] * len(attempts))
    return [row["id"] for row in rows]


async def put(database: Database, host: str = HOST, **columns: Any) -> None:
    names = ", ".join(["host", *columns])
    parameters = ", ".join(f"${n}" for n in range(1, len(columns) + 2))
    await sql(
        database,
        f"INSERT INTO windlass.target ({names}) VALUES ({parameters})",
        host,
        *columns.values(),
    )


async def faults(database: Database) -> list[object]:
    return [finding async for _, findings in check_folds(database) for finding in findings]


async def test_a_parked_job_leaves_its_line_and_spends_no_attempt(database: Database) -> None:
    [job_id] = await submit(database, hook())
    assert await park_all(database) == [job_id]
    job = await row(database, job_id)
    assert (job["state"], job["attempt"], job["started_at"]) == ("queued", 0, None)
    assert await take(database, await register(database)) == []
    parked = "SELECT parked_for FROM windlass.job WHERE id = $1 AND parked_at IS NOT NULL"
    assert await value(database, parked, job_id) == "breaker"
    assert await value(database, "SELECT count(*) FROM windlass.target WHERE host = $1", HOST) == 1


async def test_parking_and_letting_go_keep_the_events_true_to_the_row(database: Database) -> None:
    await submit(database, *[hook()] * 3)
    await park_all(database)
    assert await faults(database) == []
    await unpark(database, {HOST: 2})
    node = await register(database)
    await end(database, node, await take(database, node))
    assert await faults(database) == []


async def test_a_job_asked_to_cancel_is_not_parked(database: Database) -> None:
    [job_id] = await submit(database, hook())
    node = await register(database)
    attempt = await take_one(database, node)
    await cancel(database, [job_id])
    assert await park(database, [attempt], ["rate"]) == []
    assert await state(database, job_id) == "running"


async def test_a_parked_job_can_be_cancelled_at_once(database: Database) -> None:
    [job_id] = await submit(database, hook())
    await park_all(database)
    await cancel(database, [job_id])
    assert await state(database, job_id) == "cancelled"


async def test_those_of_higher_priority_and_those_who_waited_longest_go_first(
    database: Database,
) -> None:
    low, high, older = await submit(
        database, hook(priority=0), hook(priority=2), hook(priority=0, delay_seconds=0)
    )
    await sql(
        database, "UPDATE windlass.job SET run_at = run_at - interval '1 h' WHERE id = $1", older
    )
    await park_all(database)
    order = [(await unpark(database, {HOST: 1}))[0]["id"] for _ in range(3)]
    assert order == [high, older, low]
    assert await unpark(database, {HOST: 1}) == []


async def test_a_million_parked_for_one_host_are_one_line_of_news(database: Database) -> None:
    await submit(database, *[hook()] * 600, hook(target="other.example"))
    await park_all(database)
    await park_all(database)
    told = await read_changes(database, (await read_exceptional(database))[1])
    assert {r["host"]: r["waiting"] for r in told.rows} == {HOST: 500, "other.example": 1}


async def test_a_limit_on_running_counts_passes_that_are_out(database: Database) -> None:
    await put(database, max_running=2)
    await submit(database, *[hook()] * 5)
    await park_all(database, "max_running")
    assert len(await unpark(database, {HOST: 500})) == 2
    assert await unpark(database, {HOST: 500}) == []
    node = await register(database)
    first, second = await take(database, node)
    assert first.has_pass
    assert second.has_pass
    await end(database, node, first)
    assert len(await unpark(database, {HOST: 500})) == 1
    # A retry gives its pass back as well.
    await end(database, node, second, Failed("http 500", "it broke"))
    assert len(await unpark(database, {HOST: 500})) == 1


async def test_many_nodes_letting_go_at_once_never_exceed_the_limit(
    database: Database, database_url: str
) -> None:
    await put(database, max_running=3)
    await submit(database, *[hook()] * 50)
    await park_all(database, "max_running")
    async with several(database_url, 4) as others:
        freed = await asyncio.gather(
            *(unpark(other, {HOST: 10}) for other in others for _ in range(3))
        )
    assert sum(map(len, freed)) == 3


async def test_an_open_breaker_lets_one_probe_go_when_its_time_has_come(database: Database) -> None:
    await submit(database, *[hook()] * 5)
    await park_all(database)
    opened = await open_breaker(database, HOST, "refused", 0.5)
    assert opened is not None
    assert opened.breaker == "open"
    assert await unpark(database, {HOST: 500}) == []
    await _let_rest_pass(database)
    assert len(await unpark(database, {HOST: 500})) == 1
    assert await value(database, "SELECT breaker FROM windlass.target") == "half_open"
    assert await unpark(database, {HOST: 500}) == []


async def test_a_probe_that_vanished_is_followed_by_another(database: Database) -> None:
    await submit(database, *[hook()] * 2)
    await park_all(database)
    await open_breaker(database, HOST, "refused", 0.5)
    await _let_rest_pass(database)
    [probe] = await unpark(database, {HOST: 1})
    await cancel(database, [probe["id"]])
    [next_probe] = await unpark(database, {HOST: 1})
    assert next_probe["id"] != probe["id"]


async def probing(database: Database) -> None:
    """What is due is parked, and its target may be probed."""
    await park_all(database)
    await open_breaker(database, HOST, "refused", 0.5)
    await _let_rest_pass(database)


async def test_a_probe_is_not_given_to_a_job_of_a_paused_queue(database: Database) -> None:
    await submit(database, *[hook(queue="closed", priority=3)] * 3, hook())
    await probing(database)
    await pause_queue(database, "closed")
    assert [job["queue"] for job in await unpark(database, {HOST: 1})] == ["default"]


async def test_a_probe_whose_queue_is_paused_before_it_starts_gives_its_pass_back(
    database: Database,
) -> None:
    first, second = await submit(database, hook(queue="closed", priority=3), hook())
    await probing(database)
    assert [job["id"] for job in await unpark(database, {HOST: 1})] == [first]
    await pause_queue(database, "closed")
    assert [job["id"] for job in await unpark(database, {HOST: 1})] == [second]
    await resume_queue(database, "closed")
    assert [a.job_id for a in await take(database, await register(database))] == [second]
    assert await unpark(database, {HOST: 1}) == [], "one probes, and the other waits"
    assert await faults(database) == []


async def test_a_probe_is_given_to_a_queue_that_has_room_before_one_that_is_full(
    database: Database,
) -> None:
    narrow, wide = await submit(database, hook(queue="narrow", priority=3), hook())
    await probing(database)
    await put_queue(database, "narrow", QueueLimits(max_running=1))
    await submit(database, noop(queue="narrow"))
    node = await register(database)
    long = await take_one(database, node)  # a job of hours
    assert [job["id"] for job in await unpark(database, {HOST: 1})] == [wide]
    await cancel(database, [wide])
    await end(database, node, long)
    assert [job["id"] for job in await unpark(database, {HOST: 1})] == [narrow]


async def test_a_probe_is_given_to_a_queue_that_has_a_token_before_one_that_has_none(
    database: Database,
) -> None:
    slow, quick = await submit(database, hook(queue="slow", priority=3), hook())
    await probing(database)
    await put_queue(database, "slow", QueueLimits(rate=0.001))
    await submit(database, noop(queue="slow"))
    await take_one(database, await register(database))  # with the token of the next quarter
    assert [job["id"] for job in await unpark(database, {HOST: 1})] == [quick]
    await cancel(database, [quick])
    assert [job["id"] for job in await unpark(database, {HOST: 1})] == [slow]


@pytest.mark.parametrize("limits", [QueueLimits(max_running=1), QueueLimits(rate=0.001)])
async def test_a_probe_whose_queue_has_no_room_any_more_is_left_to_a_queue_that_has(
    database: Database, limits: QueueLimits
) -> None:
    narrow, wide = await submit(database, hook(queue="narrow", priority=3), hook())
    await probing(database)
    await put_queue(database, "narrow", limits)
    assert [job["id"] for job in await unpark(database, {HOST: 1})] == [narrow]
    await submit(database, noop(queue="narrow", priority=3))
    earlier = "UPDATE windlass.job SET run_at = run_at - interval '1 h' WHERE target IS NULL"
    await sql(database, earlier)
    node = await register(database)
    long = await take_one(database, node)  # a job of hours, which was due before the probe
    assert long.job_id != narrow
    assert [job["id"] for job in await unpark(database, {HOST: 1})] == [wide]
    assert await unpark(database, {HOST: 1}) == [], "one probes, and the other waits"
    await cancel(database, [wide])
    assert [job["id"] for job in await unpark(database, {HOST: 1})] == [narrow]
    assert await unpark(database, {HOST: 1}) == [], "nobody else could probe"
    assert await faults(database) == []


async def test_where_all_queues_are_full_the_probe_waits_in_one_of_them(database: Database) -> None:
    [only] = await submit(database, hook(queue="narrow"))
    await probing(database)
    await put_queue(database, "narrow", QueueLimits(max_running=1))
    await submit(database, noop(queue="narrow"))
    await take_one(database, await register(database))
    assert [job["id"] for job in await unpark(database, {HOST: 1})] == [only]


async def test_a_pass_of_a_limited_target_is_not_kept_by_a_paused_queue(database: Database) -> None:
    await put(database, max_running=1)
    await submit(database, hook(queue="closed", priority=3), hook())
    await park_all(database, "max_running")
    await unpark(database, {HOST: 500})
    await pause_queue(database, "closed")
    assert [job["queue"] for job in await unpark(database, {HOST: 500})] == ["default"]


async def test_a_step_of_a_paused_execution_keeps_no_pass(database: Database) -> None:
    flow = await Flow.start(database, [step("a"), step("b")])
    await sql(database, "UPDATE windlass.job SET target = $1", HOST)
    [other] = await submit(database, hook(priority=0))
    await probing(database)
    await unpark(database, {HOST: 1})
    await pause_execution(database, flow.execution_id)
    assert [job["id"] for job in await unpark(database, {HOST: 1})] == [other]


async def test_each_time_a_breaker_opens_again_it_rests_twice_as_long(database: Database) -> None:
    await put(database, breaker_rest_seconds=10.0, breaker_rest_max_seconds=35.0)
    rests = []
    for _ in range(4):
        await open_breaker(database, HOST, "refused", 0.5)
        left = (
            "SELECT extract(epoch FROM open_until - clock_timestamp())::float8 FROM windlass.target"
        )
        rests.append(await value(database, left))
        await _let_rest_pass(database)
        await unpark(database, {HOST: 1})
    assert rests == pytest.approx([10, 20, 35, 35], abs=4.5)
    assert await close_breaker(database, HOST) is not None
    assert await value(database, "SELECT opens FROM windlass.target") == 0
    assert await close_breaker(database, HOST) is None


async def test_a_closed_breaker_lets_all_go_without_passes(database: Database) -> None:
    await submit(database, *[hook()] * 20)
    await park_all(database)
    assert len(await unpark(database, {HOST: 500})) == 20
    node = await register(database)
    assert [attempt.has_pass for attempt in await take(database, node)] == [False] * 20


async def test_only_the_first_of_many_who_open_a_breaker_does(
    database: Database, database_url: str
) -> None:
    async with several(database_url, 4) as others:
        opened = await asyncio.gather(
            *(patiently(partial(open_breaker, other, HOST, "refused", 0.5)) for other in others)
        )
    assert len([target for target in opened if target is not None]) == 1
    assert await value(database, "SELECT opens FROM windlass.target") == 1


async def test_a_target_nobody_knew_can_be_opened_and_disabled(database: Database) -> None:
    opened = await open_breaker(database, HOST, "refused", 0.5)
    gone = await disable_gone(database, "other.example", "410")
    assert opened is not None
    assert opened.open_until is not None
    assert gone is not None
    assert not gone.is_enabled


async def test_a_target_without_a_breaker_never_opens(database: Database) -> None:
    await put(database, breaker_failures=0)
    assert await open_breaker(database, HOST, "refused", 0.5) is None


async def test_a_disabled_target_lets_nobody_go_until_it_is_enabled(database: Database) -> None:
    await submit(database, hook())
    await park_all(database, "disabled")
    assert await disable_gone(database, HOST, "410") is not None
    assert await disable_gone(database, HOST, "410") is None
    assert await unpark(database, {HOST: 500}) == []
    await sql(database, "UPDATE windlass.target SET is_enabled = true")
    assert len(await unpark(database, {HOST: 500})) == 1


async def test_what_is_out_of_the_ordinary_is_known_from_the_start(database: Database) -> None:
    assert (await read_exceptional(database))[0] == []
    await put(database, "plain.example")
    await put(database, "slow.example", rate=2.0)
    await open_breaker(database, "dead.example", "refused", 0.5)
    assert {target.host for target in (await read_exceptional(database))[0]} == {
        "slow.example",
        "dead.example",
    }


async def be_gone(database: Database, seconds: float) -> None:
    await disable_gone(database, HOST, "the receiver answered 410 Gone")
    earlier = "disabled_at - $1 * interval '1 second'"
    await sql(
        database,
        f"UPDATE windlass.target SET disabled_at = {earlier}, gone_at = {earlier}",
        seconds,
    )


async def grow_old(database: Database) -> None:
    earlier = "parked_at - $1 * interval '1 second'"
    await sql(database, f"UPDATE windlass.job SET parked_at = {earlier}", TARGET_GONE_SECONDS)


async def test_what_waits_for_a_target_that_is_gone_becomes_a_dead_letter(
    database: Database,
) -> None:
    [job_id] = await submit(database, hook())
    [child] = await submit(database, noop(depends_on=(job_id,)))
    await park_all(database, "disabled")
    await be_gone(database, TARGET_GONE_SECONDS)
    assert (await bury_gone(database, [HOST])).ended == {}, "it has not waited for so long"
    await grow_old(database)
    assert (await bury_gone(database, [HOST])).ended == {job_id: "dead", child: "skipped"}
    job = await row(database, job_id)
    assert (job["cause"], job["attempt"]) == ("gone", 0)
    assert "410" in job["error"]
    assert await faults(database) == []


async def test_what_somebody_has_disabled_or_enabled_again_keeps_its_jobs(
    database: Database,
) -> None:
    await submit(database, hook())
    await park_all(database, "disabled")
    await be_gone(database, TARGET_GONE_SECONDS)
    await grow_old(database)
    await database.run("target_disable", HOST, "it moves, wait")
    assert (await bury_gone(database, [HOST])).ended == {}
    await database.run("target_enable", HOST)
    assert (await bury_gone(database, [HOST])).ended == {}
    assert len(await unpark(database, {HOST: 500})) == 1


@pytest.mark.parametrize(
    ("url", "target"),
    [
        *ADDRESSES,
        *((url, target) for url, target in SPELLINGS if url.isascii()),
        *((url, None) for url in STRANGE if url.isascii()),
    ],
)
async def test_sql_writes_a_target_as_the_model_does(
    database: Database, url: str, target: str | None
) -> None:
    assert await value(database, "SELECT windlass.target_of($1)", url) == target


async def test_sql_refuses_a_host_that_it_cannot_write_as_the_model_does(
    database: Database,
) -> None:
    with pytest.raises(BadValue, match="written in ASCII"):
        await value(database, "SELECT windlass.target_of('https://bücher.example/')")


async def _let_rest_pass(database: Database) -> None:
    await sql(
        database, "UPDATE windlass.target SET open_until = clock_timestamp() WHERE breaker = 'open'"
    )
