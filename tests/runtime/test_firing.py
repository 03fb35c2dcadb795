"""The leader's rounds: all that is due is fired, and it rests until something is."""

from __future__ import annotations

from collections.abc import Callable

from tests.engine.hands import sql
from tests.engine.schedules.scheduling import put
from windlass.engine.schedules.decide import Fired, FireOptions
from windlass.limits import (
    FIRE_BATCH,
    FIRE_EMPTY_SECONDS,
    FIRE_GATHER_SECONDS,
    FIRE_IDLE_SECONDS,
    FIRE_POLL_SECONDS,
)
from windlass.runtime.firing import FiringRounds
from windlass.store.database import Database
from windlass.telemetry.metrics import Metrics

MANY = 2 * FIRE_BATCH + 5


def rounds(
    database: Database,
    told: list[Fired],
    *,
    is_heard: bool = True,
    on_behind: Callable[[bool], None] = lambda _: None,
) -> FiringRounds:
    return FiringRounds(
        database=database,
        options=FireOptions(),
        on_fired=told.append,
        is_heard=lambda: is_heard,
        on_behind=on_behind,
    )


async def test_all_that_is_due_is_fired_however_many_rounds_it_takes(database: Database) -> None:
    await put(database, "a", {"cron": "0 0 1 1 *"})
    await sql(
        database,
        """
        INSERT INTO windlass.schedule (id, name, next_at, fire_at, rule, job)
        SELECT gen_random_uuid(), 's' || n, date_trunc('second', now()), now(), rule, job
        FROM windlass.schedule, generate_series(1, $1::int) n
        """,
        MANY,
    )
    told: list[Fired] = []
    behind: list[bool] = []
    await rounds(database, told, on_behind=behind.append).fire()
    assert sum(fired.schedules for fired in told) == MANY
    assert behind == [True, False], "whoever is behind says so, and that it is over"
    [row] = await sql(database, "SELECT count(*) AS jobs FROM windlass.job")
    assert row["jobs"] == MANY


async def test_it_rests_until_something_is_due(database: Database) -> None:
    resting = rounds(database, [])
    await resting.fire()
    assert resting.rest_seconds == FIRE_EMPTY_SECONDS
    await put(database, "a", {"cron": "0 0 1 1 *"})
    await resting.fire()
    assert resting.rest_seconds == FIRE_IDLE_SECONDS
    await put(database, "b", {"cron": "* * * * * *"})
    await resting.fire()
    assert FIRE_GATHER_SECONDS <= resting.rest_seconds <= FIRE_POLL_SECONDS


async def test_where_nobody_could_tell_it_of_a_new_schedule_it_looks_more_often(
    database: Database,
) -> None:
    resting = rounds(database, [], is_heard=False)
    await resting.fire()
    assert resting.rest_seconds == FIRE_POLL_SECONDS


def test_how_late_each_was_is_observed() -> None:
    metrics = Metrics()
    metrics.fired([0.0, 0.3, 7.0])
    found = metrics.registry.get_sample_value("windlass_schedule_lateness_seconds_count")
    total = metrics.registry.get_sample_value("windlass_schedule_lateness_seconds_sum")
    assert (found, total) == (3.0, 7.3)
