"""`wait`: a timer. Short waits sleep in a slot; long ones are parked and hold nothing."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import Any

from windlass.duration import parse_seconds
from windlass.limits import DURATION_SECONDS_MAX, WAIT_IN_SLOT_SECONDS_MAX
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Outcome, Snoozed, Succeeded
from windlass.model.job.submission import read_instant
from windlass.model.json.pointer import step
from windlass.strategies.strategy import refused_input

_FIELDS = ("seconds", "duration", "until")


def check_input(value: dict[str, Any]) -> list[tuple[str, str]]:
    problems = [
        (step(name), f"unknown field; known are {' '.join(_FIELDS)}")
        for name in value
        if name not in _FIELDS
    ]
    given = [name for name in _FIELDS if name in value]
    if len(given) != 1:
        return [*problems, ("", 'needs how long: {"duration": "5s"} or {"until": "2030-…Z"}')]
    try:
        (read_instant if given[0] == "until" else parse_seconds)(value[given[0]])
    except ValueError as trouble:
        problems.append((f"/{given[0]}", str(trouble)))
    return problems


class Wait:
    def __init__(self, in_slot_seconds_max: float = WAIT_IN_SLOT_SECONDS_MAX) -> None:
        self._in_slot_seconds_max = in_slot_seconds_max  # below 0: every wait is parked

    async def perform(self, attempt: Attempt) -> Outcome:
        given = json.loads(attempt.input)
        if problems := check_input(given):
            return refused_input(problems)
        if "until" in given:
            return await self._until(read_instant(given["until"]), attempt)
        seconds = parse_seconds(given.get("seconds", given.get("duration")))
        if seconds <= self._in_slot_seconds_max:
            await asyncio.sleep(seconds)
            return Succeeded()
        # Parked once; when it is due again the time has passed, by the database's clock.
        waited = (attempt.started_at - attempt.created_at).total_seconds()
        if attempt.snoozes and waited >= seconds:
            return Succeeded()
        return Snoozed(seconds)

    async def _until(self, instant: datetime, attempt: Attempt) -> Outcome:
        """By the database's clock, as the attempt has it; what is past is over."""
        left = (instant - attempt.started_at).total_seconds()
        if left <= 0:
            return Succeeded()
        if left > self._in_slot_seconds_max:
            return Snoozed(min(left, DURATION_SECONDS_MAX))
        await asyncio.sleep(left)
        return Succeeded()

    async def close(self) -> None:
        pass
