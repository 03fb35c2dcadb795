"""Where clocks change, in twenty zones over ten years, our instants are those of the oracle.

A part of the whole: each zone meets some of the two hundred rules, over four days around each of
its changes. `python -m tests.model.schedule.cron_compare` asks every rule about every minute.
"""

from __future__ import annotations

from random import Random

import pytest

from tests.model.schedule.cron_compare import compare
from tests.model.schedule.cron_oracle import Oracle, jumps, walk
from tests.model.schedule.cron_questions import END, START, ZONES, questions

DAY = 86_400
RULES = 8  # of two hundred, for each zone
SEED = Random().randrange(2**32)


@pytest.mark.slow
@pytest.mark.parametrize("zone", ZONES)
def test_no_instant_differs_from_the_oracle(zone: str) -> None:
    chance = Random(f"{SEED} {zone}")
    oracles = [Oracle(question) for question in chance.sample(questions(), RULES)]
    quiet = START // 60 * 60 + chance.randrange(3_000) * DAY
    wrong = []
    for at in [quiet, *jumps(zone, START, END)]:
        runs = walk(zone, at - 2 * DAY, at + 2 * DAY)
        wrong += compare(zone, oracles, runs, SEED)[1]
    assert wrong == [], f"seed {SEED}"
