"""Compare Windlass with the oracle: every zone, every rule, every instant of ten years.

    python -m tests.model.schedule.cron_compare [--zone Europe/Berlin …] [--rules 200] [--seed 6]

It takes about a quarter of an hour on one core, tells how far it is after each zone, and ends with
1 when there is a difference. The tests have a part of it: test_schedule_oracle.py.
"""

from __future__ import annotations

import argparse
import sys
from array import array
from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from random import Random
from time import perf_counter
from typing import Literal, cast

from tests.model.schedule.cron_oracle import Oracle, Question, Run, walk
from tests.model.schedule.cron_questions import END, START, ZONES, questions
from windlass.model.schedule.calendar import Calendar, Shift
from windlass.model.schedule.cron import EPOCH_DAY, read_cron
from windlass.model.schedule.dst import Dst
from windlass.model.schedule.next import between, count_between, next_after
from windlass.model.schedule.rule import Rule

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
NEXTS = 20  # of each rule and zone, by a call of their own


def rule_of(asked: Question, zone: str) -> Rule:
    calendar = None
    if asked.off_weekdays or asked.off_dates or asked.off_yearly:
        calendar = Calendar(
            weekdays=asked.off_weekdays,
            dates=frozenset(day.toordinal() - EPOCH_DAY for day in asked.off_dates),
            yearly=asked.off_yearly,
            shift=cast("Shift", asked.shift),
        )
    dst = Dst(
        gap=cast('Literal["next", "skip"]', asked.gap),
        overlap=cast('Literal["first", "second", "both"]', asked.overlap),
    )
    return Rule(when=read_cron(asked.cron), timezone=zone, dst=dst, calendar=calendar)


def differences(
    rule: Rule, expected: array[int], start: int, end: int, chance: Random
) -> list[str]:
    """What is not as the oracle has it, over the instants from `start` on and before `end`."""
    after, until = instant(start) - SECOND, instant(end) - SECOND
    found = array("q", (seconds(at) for at in between(rule, after, until, sys.maxsize)))
    wrong = []
    if found != expected:
        first = min(set(found) ^ set(expected), default=0)
        missing = "missing" if first in set(expected) else "too many"
        wrong.append(f"{missing}: {instant(first)}; {len(found)} instead of {len(expected)}")
    counted = count_between(rule, after, until)
    if counted != len(expected):
        wrong.append(f"counted {counted} instead of {len(expected)}")
    for _ in range(NEXTS):
        asked = chance.randrange(start, end)
        index = bisect_right(expected, asked)
        follows = next_after(
            rule, instant(asked) + timedelta(microseconds=chance.randrange(1, 10**6))
        )
        if index < len(expected) and follows != instant(expected[index]):
            wrong.append(f"after {instant(asked)}: {follows} instead of {instant(expected[index])}")
    return wrong


def instant(seconds: int) -> datetime:
    return EPOCH + seconds * SECOND


def seconds(at: datetime) -> int:
    return int(at.timestamp())


def compare(zone: str, oracles: list[Oracle], runs: list[Run], seed: int) -> tuple[int, list[str]]:
    """How many instants were compared, and what differs."""
    instants, wrong = 0, []
    start, end = runs[0].at, runs[-1].at + 60 * runs[-1].length
    for oracle in oracles:
        question = oracle.question
        expected = array("q", oracle.answers(runs))
        chance = Random(f"{seed} {zone} {question.cron}")
        found = differences(rule_of(question, zone), expected, start, end, chance)
        wrong += [f"{zone} {question}: {difference}" for difference in found]
        instants += len(expected)
    return instants, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--zone", action="append", choices=ZONES)
    parser.add_argument("--rules", type=int, default=200)
    parser.add_argument("--seed", type=int, default=6)
    given = parser.parse_args()
    # One for all zones: what it found out about days holds in each.
    oracles = [Oracle(question) for question in questions(given.rules, given.seed)]
    total, failed, began = 0, 0, perf_counter()
    for zone in given.zone or ZONES:
        runs = walk(zone, START, END)
        walked = perf_counter()
        instants, wrong = compare(zone, oracles, runs, given.seed)
        total, failed = total + instants, failed + len(wrong)
        print(
            f"{zone}: {len(oracles)} rules, {len(runs) - 1} changes of clocks, {instants} instants,"
            f" {len(wrong)} differences, {perf_counter() - walked:.0f} s",
            *wrong[:20],
            sep="\n  ",
            flush=True,
        )
    print(f"{total} instants, {failed} differences, {perf_counter() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
