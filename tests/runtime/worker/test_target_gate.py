"""What a node makes of deliveries that fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID

import asyncpg

from tests.engine.hands import noop, register, sql, submit, take, value
from tests.model.job.attempts import attempt
from windlass.clock import monotonic
from windlass.engine.announce import Announcer
from windlass.engine.effects import Effects
from windlass.engine.targets.targets import TargetLimits, put_target, read_target_row
from windlass.fastlane.lane import FastLane
from windlass.fastlane.target_failures import TargetFailures
from windlass.fastlane.target_rate import TargetRateLimit
from windlass.limits import TARGET_GONE_SECONDS, TARGETS_PAGE_MAX, UNPARK_BATCH_MAX
from windlass.model.job.outcome import Failed
from windlass.runtime.worker.target_gate import TargetGate
from windlass.store.database import Database
from windlass.telemetry.metrics import Metrics

HOST = "shop.example:443"
HELD_AND_FREE = ("held.example", "free.example")
# Below the half minute that a statement may wait; what is slower than this is a busy machine.
SLACK_SECONDS = 20.0


def targets_of(
    database: Database, follow: Callable[[Effects], None] = lambda _: None
) -> TargetGate:
    lane = FastLane(None)
    return TargetGate(
        database=database,
        announcer=Announcer(lane),
        rate_limit=TargetRateLimit(lane),
        failures=TargetFailures(lane),
        metrics=Metrics(),
        slots=4,
        follow=follow,
    )


async def test_a_breaker_that_was_set_just_before_the_failures_opens(database: Database) -> None:
    """Nobody has told the node of it yet."""
    targets = targets_of(database)
    await targets.look()
    await put_target(database, HOST, TargetLimits(failures=2))
    for _ in range(2):
        targets.ended(attempt(kind="http", target=HOST), Failed("status", "it answered 500"))
    await targets.look()
    assert (await read_target_row(database, HOST)).breaker.state == "open"


async def test_every_target_that_jobs_wait_for_has_its_turn(database: Database) -> None:
    hosts = [f"a{n:05}.example" for n in range(TARGETS_PAGE_MAX + 10)]
    await sql(
        database,
        """INSERT INTO windlass.target (host, is_enabled, disabled_at)
           SELECT unnest($1::text[]), false, now()""",
        hosts,
    )
    await submit(database, *[noop(target=host, parked_for="disabled") for host in hosts])
    await submit(database, noop(target="z.example", parked_for="crowded"))
    await database.run("target_ensure_many", ["z.example"])
    targets = targets_of(database)
    for _ in range(2):
        await targets.look()
    assert len(await take(database, await register(database))) == 1


async def test_however_many_targets_change_at_once_all_are_learnt(database: Database) -> None:
    targets = targets_of(database)
    await targets.look()
    hosts = [f"{n}.example" for n in range(2 * TARGETS_PAGE_MAX + 1)]
    await sql(
        database, "INSERT INTO windlass.target (host, rate) SELECT unnest($1::text[]), 1.0", hosts
    )
    await targets.look()
    assert targets.park([noop(target=host) for host in hosts]) == sorted(hosts)


async def test_what_waited_for_a_target_that_is_gone_is_ended_and_told(database: Database) -> None:
    count = UNPARK_BATCH_MAX + 1
    made = await submit(database, *[noop(target=HOST, parked_for="disabled")] * count)
    await database.run("target_gone", HOST, "the receiver answered 410 Gone")
    ago = f"now() - interval '{TARGET_GONE_SECONDS + 1} s'"
    await sql(database, f"UPDATE windlass.target SET disabled_at = {ago}, gone_at = {ago}")
    await sql(database, f"UPDATE windlass.job SET parked_at = {ago}")
    told: list[UUID] = []
    targets = targets_of(database, lambda effects: told.extend(effects.ended))
    for _ in range(2):
        await targets.look()
    assert sorted(told) == sorted(made)


async def test_a_node_without_descriptors_opens_no_breaker(database: Database) -> None:
    targets = targets_of(database)
    await put_target(database, HOST, TargetLimits(failures=2))
    for cause in ("out of sockets", "no route") * 5:
        targets.ended(attempt(kind="http", target=HOST), Failed(cause, "it lacks something"))
    await targets.look()
    assert (await read_target_row(database, HOST)).breaker.state == "closed"


async def test_a_target_whose_row_is_held_keeps_no_other_from_what_is_its_due(
    database: Database,
) -> None:
    """It is told of, its breaker opens and its jobs go once the row is free."""
    targets = targets_of(database)
    for host in HELD_AND_FREE:
        await put_target(database, host, TargetLimits(failures=1))
        await submit(database, noop(target=host, parked_for="crowded"))
    node_id = await register(database)
    user: Any = await asyncpg.connect(database.url)
    try:
        await user.execute("BEGIN")
        await user.execute("SELECT FROM windlass.target WHERE host = 'held.example' FOR UPDATE")
        begun = monotonic()
        await targets.look()
        assert [one.target for one in await take(database, node_id)] == ["free.example"]
        for host in HELD_AND_FREE:
            targets.ended(attempt(kind="http", target=host), Failed("status", "it answered 500"))
        await until_told(targets, database, "free.example")
        assert monotonic() - begun < SLACK_SECONDS
        assert await breakers(database) == {"free.example": "open", "held.example": "closed"}
        await user.execute("COMMIT")
    finally:
        await user.close(timeout=5)
    await until_told(targets, database, "held.example")
    assert await breakers(database) == {"free.example": "open", "held.example": "open"}
    counted = "SELECT sum(failed)::int FROM windlass.target"
    assert await value(database, counted) == 2, "each failure was told once"


async def breakers(database: Database) -> dict[str, str]:
    return {host: (await read_target_row(database, host)).breaker.state for host in HELD_AND_FREE}


async def until_told(targets: TargetGate, database: Database, host: str) -> None:
    """It tells about once a second."""
    told = "SELECT count(*) FROM windlass.target WHERE host = $1 AND failed > 0"
    async with asyncio.timeout(SLACK_SECONDS):
        while not await value(database, told, host):
            await targets.look()
            await asyncio.sleep(0.05)
