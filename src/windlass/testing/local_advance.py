"""Letting time pass in a test, from one due instant to the next.

A jump over three days would be a node that slept for three days: schedules would see misfires, and
a retry would run long after it was due. So time moves to each instant at which something is due, in
order, and everything is done there before it moves on, as on a node that is awake.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from windlass.errors import WindlassError
from windlass.testing.local_clock import VirtualClock
from windlass.testing.local_quiet import Facts, Quiet

STEPS_MAX: Final = 2_000
_MOMENT: Final = timedelta(milliseconds=1)  # what is due at an instant is due just after it


class TooManyInstants(WindlassError):
    """Between now and then more falls due than a test can run through."""

    code = "too_many_instants"


async def advance(quiet: Quiet, clock: VirtualClock, by: timedelta, seconds_max: float) -> Facts:
    """Do all that falls due until then, each thing at its instant. `seconds_max` is for each."""
    facts = await quiet.reach(seconds_max)
    until = facts.now + by
    for _ in range(STEPS_MAX):
        if facts.next_at is None or facts.next_at > until:
            break
        await clock.move_to(facts.next_at + _MOMENT)
        facts = await quiet.reach(seconds_max)
    else:
        raise TooManyInstants(
            f"more than {STEPS_MAX} instants fall due between now and {until:%Y-%m-%d %H:%M:%SZ}, "
            f"the next at {_shown(facts.next_at)}; advance by less, or pause what is due so often"
        )
    if facts.now < until:
        await clock.move_to(until)
        facts = await quiet.reach(seconds_max)
    return facts


def _shown(instant: datetime | None) -> str:
    return "no time" if instant is None else f"{instant:%Y-%m-%d %H:%M:%SZ}"
