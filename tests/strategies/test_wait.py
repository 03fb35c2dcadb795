"""Waiting: a short wait sleeps in its slot, a long one is parked and holds nothing."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import timedelta
from typing import Any

import pytest

from tests.model.job.attempts import NOON, attempt
from windlass.limits import WAIT_IN_SLOT_SECONDS_MAX
from windlass.model.job.outcome import Failed, Outcome, Snoozed, Succeeded
from windlass.strategies.builtin import Noop, check_input
from windlass.strategies.wait import Wait


async def wait(given: dict[str, Any], **fields: Any) -> Outcome:
    return await Wait().perform(attempt(kind="wait", input=json.dumps(given), **fields))


@pytest.mark.parametrize("given", [{"seconds": 0.05}, {"duration": "50ms"}])
async def test_a_short_wait_takes_its_time(given: dict[str, Any]) -> None:
    began = time.monotonic()
    assert await wait(given) == Succeeded()
    assert 0.05 <= time.monotonic() - began < 10


async def test_a_short_wait_can_be_stopped() -> None:
    task = asyncio.create_task(wait({"seconds": WAIT_IN_SLOT_SECONDS_MAX}))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_long_wait_is_parked_and_over_when_it_is_due_again() -> None:
    hour = {"duration": "1h"}
    assert await wait(hour) == Snoozed(3600)
    back = NOON + timedelta(hours=1, milliseconds=1)
    assert await wait(hour, number=2, snoozes=1, started_at=back) == Succeeded()


async def test_a_long_wait_is_judged_by_the_databases_clock_alone() -> None:
    """The attempt's instants lie years ahead of this machine's clock, or far behind it."""
    for created in (NOON + timedelta(days=9000), NOON - timedelta(days=9000)):
        fields = {"created_at": created, "started_at": created + timedelta(hours=1)}
        assert await wait({"seconds": 3600}, number=2, snoozes=1, **fields) == Succeeded()


async def test_a_long_wait_that_came_back_too_early_waits_on() -> None:
    early = NOON + timedelta(minutes=59)
    outcome = await wait({"seconds": 3600}, number=2, snoozes=1, started_at=early)
    assert isinstance(outcome, Snoozed)


async def test_a_retry_of_a_long_wait_is_not_taken_for_its_end() -> None:
    late = NOON + timedelta(hours=2)
    assert await wait({"seconds": 3600}, started_at=late) == Snoozed(3600)


async def test_a_wait_until_an_instant_ends_then_by_the_databases_clock() -> None:
    until = {"until": (NOON + timedelta(hours=2)).isoformat()}
    assert await wait(until, started_at=NOON) == Snoozed(7200)
    assert await wait(until, number=2, snoozes=1, started_at=NOON + timedelta(hours=3)) == (
        Succeeded()
    )
    nearly = NOON + timedelta(hours=2) - timedelta(milliseconds=20)
    assert await wait(until, number=2, snoozes=1, started_at=nearly) == Succeeded()


WRONG: tuple[dict[str, Any], ...] = (
    {},
    {"seconds": "soon"},
    {"seconds": 1, "duration": 1},
    {"until": "tomorrow"},
)


@pytest.mark.parametrize("given", WRONG)
async def test_input_that_did_not_pass_the_door_is_refused_for_good(given: dict[str, Any]) -> None:
    outcome = await wait(given)
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("invalid_input", True)


def test_a_noop_does_nothing_successfully_whatever_it_is_given() -> None:
    assert Noop().perform_now(attempt()) == Succeeded()
    assert check_input({"any": ["thing"]}) == []
