"""Targets: read, set, enabled, disabled and reset, with an event of each."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from tests.engine.hands import noop, register, sql, submit, take, value
from windlass.engine.jobs.claim import park
from windlass.engine.targets import targets
from windlass.engine.targets.targets import (
    TargetLimits,
    disable_target,
    enable_target,
    find_target,
    list_targets,
    put_target,
    read_target_row,
    reset_target,
)
from windlass.errors import NotFound
from windlass.limits import BREAKER_FAILURES, BREAKER_REST_SECONDS, BREAKER_REST_SECONDS_MAX
from windlass.model.job.draft import Draft
from windlass.store.database import Database

HOST = "shop.example"


def webhooks(count: int) -> list[Draft]:
    return [noop(target=HOST) for _ in range(count)]


async def events(database: Database) -> list[tuple[str, dict[str, Any]]]:
    rows = await sql(
        database,
        "SELECT type, data FROM windlass.event WHERE noun = 'target' AND subject = $1 ORDER BY seq",
        HOST,
    )
    return [(row["type"], json.loads(row["data"])) for row in rows]


async def changed_at(database: Database) -> datetime:
    found: datetime = await value(
        database, "SELECT changed_at FROM windlass.target WHERE host = $1", HOST
    )
    return found


async def test_a_row_that_delivery_made_has_the_limits_of_one_that_is_put(
    database: Database,
) -> None:
    """The defaults stand in the migration and in limits.py."""
    await sql(database, "INSERT INTO windlass.target (host) VALUES ($1)", HOST)
    made = (await read_target_row(database, HOST)).limits
    assert made == TargetLimits()
    assert (made.failures, made.rest_seconds) == (BREAKER_FAILURES, BREAKER_REST_SECONDS)
    assert made.rest_max_seconds == BREAKER_REST_SECONDS_MAX


async def test_every_change_is_told_and_moves_the_instant_that_nodes_look_at(
    database: Database,
) -> None:
    limits = TargetLimits(rate=2.0, failures=3, rest_seconds=1.0)
    assert (await put_target(database, HOST, limits)).limits == limits
    instants = [await changed_at(database)]
    for change in (
        put_target(database, HOST, TargetLimits()),
        disable_target(database, HOST, "no"),
        enable_target(database, HOST),
        reset_target(database, HOST),
    ):
        await change
        instants.append(await changed_at(database))
    assert instants == sorted(set(instants)), "each is later than the one before"
    told = await events(database)
    assert [kind for kind, _ in told] == ["put", "put", "disabled", "enabled", "breaker_reset"]
    assert told[0][1]["failures"] == 3
    assert told[2][1] == {"reason": "no"}


async def test_putting_limits_leaves_an_open_breaker_open_and_a_reset_closes_it(
    database: Database,
) -> None:
    await put_target(database, HOST, TargetLimits())
    for _ in range(2):
        await database.run("target_open", HOST, "http 500", 0.5)
        await sql(database, "UPDATE windlass.target SET breaker = 'half_open'")
    put = await put_target(database, HOST, TargetLimits(max_running=1))
    assert (put.breaker.state, put.breaker.opens) == ("half_open", 2)
    reset = (await reset_target(database, HOST)).breaker
    assert (reset.state, reset.opens, reset.opened_at, reset.open_until) == (
        "closed",
        0,
        None,
        None,
    )


async def test_a_disabled_target_keeps_since_when_and_takes_a_newer_reason(
    database: Database,
) -> None:
    await put_target(database, HOST, TargetLimits())
    first = await disable_target(database, HOST)
    assert (first.is_enabled, first.disabled_reason) == (False, None)
    second = await disable_target(database, HOST, "gone")
    assert (second.disabled_at, second.disabled_reason) == (first.disabled_at, "gone")
    await enable_target(database, HOST)
    third = await disable_target(database, HOST)
    assert third.disabled_reason is None, "the old reason went when it was enabled"


async def test_who_waits_is_counted_only_so_far(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "PARKED_COUNTED_MAX", 2)
    await submit(database, *webhooks(3))
    attempts = await take(database, await register(database))
    await park(database, attempts[:2], ["rate"] * 2)
    target = await read_target_row(database, HOST)
    assert (target.parked, target.has_more_parked) == (2, False)
    await park(database, attempts[2:], ["rate"])
    target = await read_target_row(database, HOST)
    assert (target.parked, target.has_more_parked) == (2, True)


async def test_who_is_under_way_is_counted_where_there_is_a_limit(database: Database) -> None:
    await submit(database, *webhooks(3))
    await sql(
        database,
        "UPDATE windlass.job SET has_pass = true WHERE id IN (SELECT id FROM windlass.job LIMIT 2)",
    )
    assert (await put_target(database, HOST, TargetLimits(rate=1))).running is None
    assert (await put_target(database, HOST, TargetLimits(max_running=5))).running == 2


async def test_a_bare_host_means_its_plain_port_where_only_that_is_known(
    database: Database,
) -> None:
    await put_target(database, f"{HOST}:80", TargetLimits())
    assert (await disable_target(database, HOST)).host == f"{HOST}:80"
    assert await find_target(database, HOST) is None
    await put_target(database, HOST, TargetLimits())
    assert (await read_target_row(database, HOST)).is_enabled
    assert [one.host for one in await list_targets(database, 5)] == [HOST, f"{HOST}:80"]
    assert [one.host for one in await list_targets(database, 5, HOST)] == [f"{HOST}:80"]


async def test_only_putting_makes_a_target(database: Database) -> None:
    for change in (enable_target, disable_target, reset_target, read_target_row):
        with pytest.raises(NotFound, match=HOST):
            await change(database, HOST)
    assert await events(database) == []
