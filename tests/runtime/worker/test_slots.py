"""Slots: every attempt that was begun is settled once, however it is stopped."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Outcome
from windlass.runtime.worker.kinds import Kinds
from windlass.runtime.worker.slots import Slots
from windlass.strategies.wait import Wait

KINDS = Kinds(instant={}, slotted={"wait": Wait()}, timeout_seconds={}, default_timeout_seconds=60)


def waiting(seconds: float) -> Attempt:
    now = datetime.now(UTC)
    return Attempt(
        job_id=uuid4(),
        claim_id=uuid4(),
        number=1,
        queue="default",
        kind="wait",
        priority=1,
        max_attempts=1,
        snoozes=0,
        crashes=0,
        created_at=now,
        started_at=now,
        timeout_ms=None,
        retry=None,
        correlation_id=None,
        trace_id=None,
        input=f'{{"seconds": {seconds}}}',
    )


class Ends:
    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, attempt: Attempt, outcome: Outcome, begun: float) -> None:
        self.names.append(outcome.name)


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
async def test_an_attempt_cancelled_in_any_turn_ends_once_and_leaves_its_slot(turns: int) -> None:
    ends = Ends()
    slots = Slots(KINDS, 1, ends)
    attempt = waiting(60)
    slots.begin(attempt)
    for _ in range(turns):
        await asyncio.sleep(0)
    slots.cancel(attempt.job_id)
    slots.cancel(attempt.job_id)
    assert await slots.empty(5) == 0
    assert ends.names == ["cancelled"]


async def test_what_a_drain_stops_is_snoozed_and_spends_no_try() -> None:
    ends = Ends()
    slots = Slots(KINDS, 2, ends)
    slots.begin(waiting(60))
    slots.begin(waiting(0))
    assert await slots.empty(0.2) == 1
    slots.hand_back()
    assert await slots.empty(5) == 0
    assert ends.names == ["succeeded", "snoozed"]


async def test_what_is_abandoned_is_not_settled_at_all() -> None:
    ends = Ends()
    slots = Slots(KINDS, 2, ends)
    slots.begin(waiting(60))
    await asyncio.sleep(0)
    slots.begin(waiting(60))
    slots.abandon()
    await slots.empty(5)
    assert ends.names == []


async def test_a_shrink_stops_the_youngest_even_one_that_had_no_turn_yet() -> None:
    ends = Ends()
    slots = Slots(KINDS, 3, ends)
    oldest = waiting(60)
    slots.begin(oldest)
    slots.begin(waiting(60))
    await asyncio.sleep(0)
    slots.begin(waiting(60))
    assert slots.hand_back(keep=1) == 2
    assert slots.hand_back(keep=1) == 0
    assert await slots.fall_to(1, 5) == 1
    assert slots.job_ids == {oldest.job_id}
    assert ends.names == ["snoozed", "snoozed"]
    slots.abandon()
    await slots.empty(5)


async def test_smaller_slots_wait_for_no_more_than_must_end() -> None:
    slots = Slots(KINDS, 3, Ends())
    for seconds in (0.05, 0.1, 60):
        slots.begin(waiting(seconds))
    slots.resize(1)
    assert slots.free == 0
    assert await slots.fall_to(1, 5) == 1
    assert await slots.fall_to(0, 0.05) == 1
    slots.resize(2)
    assert slots.free == 1
    slots.abandon()
    await slots.empty(5)
