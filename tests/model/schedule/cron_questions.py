"""What the oracle is asked: twenty zones, ten years, two hundred rules.

The years hold Samoa's lost day (2011), Newfoundland's changes a minute after midnight (until 2011),
Brazil's at midnight, Morocco's and Egypt's pauses for Ramadan, Casey's jumps of three hours,
Troll's of two, Lord Howe's of half an hour, and new offsets of Caracas, Pyongyang and Norfolk.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import cycle, product
from random import Random

from tests.model.schedule.cron_oracle import Question

START = int(datetime(2010, 7, 1, tzinfo=UTC).timestamp())
END = int(datetime(2020, 7, 1, tzinfo=UTC).timestamp())

ZONES = (
    "UTC",
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/Caracas",
    "America/New_York",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Antarctica/Casey",
    "Antarctica/Troll",
    "Asia/Gaza",
    "Asia/Kathmandu",
    "Asia/Pyongyang",
    "Asia/Tehran",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/London",
    "Pacific/Apia",
    "Pacific/Chatham",
    "Pacific/Norfolk",
)

WRITTEN = """
0 8 * * 1-5 | 30 2 * * * | 0 2 * * * | 0 3 * * * | 30 1 * * * | 0 0 * * * | 30 0 * * * | 1 0 * * *
59 23 * * * | 0 12 * * * | 15 2 * * 0 | */10 2 * * * | */7 1-3 * * * | 0 2,3 * * * | 0 0-3 * * *
0 */2 * * * | 0 */3 * * * | 30 */4 * * * | 0 * * * * | 30 * * * * | 15,45 * * * * | */20 * * * *
*/15 * * * 1 | 0 * 1 * * | 0 * 30 * * | 0 * * * 5L | 0 0 30 12 * | 0 12 30 12 * | 30 6 30,31 12 *
0 0 29 2 * | 0 0 31 * * | 0 0 L * * | 0 9 L-1 * * | 0 9 L-3 * * | 0 9 L-28 * * | 0 9 L-30 * *
0 9 LW * * | 0 9 1W * * | 0 9 15W * * | 0 9 31W * * | 0 9 30W 2,4 * | 30 2 LW * * | 0 9 1W,15W,L * *
0 9 * * 5L | 0 9 * * 0L | 0 9 * * 7L | 0 9 * * SATL | 0 9 * * 5#2 | 0 9 * * MON#1 | 0 9 * * 0#5
0 9 * * 1#1,1#3 | 30 2 * * SUN#2 | 30 1 * * 0#1 | 0 0 13 * 5 | 0 0 1,15 * 1 | 0 0 13 * 5#2
0 0 */2 * 1 | 0 0 1 * */2 | 0 0 L * 1L | 0 0 ? * MON | 0 0 1 * ? | 0 0 */10 2 5#1 | 0 0 1W * 3
0 0 1 1 * | 0 0 1 JAN,JUL * | 0 0 * 3-5 * | 30 2 * MAR,OCT,NOV SUN | 0 4 1-7 APR 0 | 0 0 1 */3 *
0 0 * * FRI-SUN | 0 0 * * 5-7 | 0 0 * * 1-7/2 | 0 0 * * 3/2 | 5/20 4 * * * | 10-40/15 2 * * *
30 30 2 * * * | 0 0 2 * * * | */15 59 1 * * * | 59 59 23 * * * | */20 */30 2,3 * * * | 1 1 0 * * *
* * * * * | */5 * * * * | * 2 * * * | * * 2 * * 0 | 0 0,12 1-31/2 * * | 0 0 * * 1,SUN | 0 0 L,15 * 1
*/30 * 2 * * 0 | 0,30 0 * * * * | 15 */15 * * * 6L | 7 30 1 L * * | 0-59/29 29,30 1-2 * * 0
"""
# Days off: weekends with either shift, and a list such as a company would keep.
_CHRISTMAS = frozenset({(12, 24), (12, 25), (12, 26), (12, 31), (1, 1)})
_SPRING = frozenset(date(year, month, 29) for year in range(2010, 2021) for month in (3, 10, 12))


def questions(count: int = 200, seed: int = 6) -> list[Question]:
    """The same ones for the same seed."""
    texts = [text.strip() for line in WRITTEN.strip().splitlines() for text in line.split("|")]
    chance = Random(seed)
    while len(texts) < count:
        texts.append(_made_up(chance))
    policies = cycle(product(("next", "skip"), ("first", "second", "both")))
    found = []
    for number, text in enumerate(texts[:count]):
        # The defaults for half of them, the others by turns.
        gap, overlap = next(policies) if number % 2 else ("next", "first")
        off: dict[str, frozenset[int]] = (
            {"off_weekdays": frozenset({5, 6})} if number % 5 == 3 else {}
        )
        busy = number % 7 == 4
        found.append(
            Question(
                cron=text,
                gap=gap,
                overlap=overlap,
                off_yearly=_CHRISTMAS if busy else frozenset(),
                off_dates=_SPRING if busy else frozenset(),
                shift=chance.choice(("none", "next", "previous")),
                **off,
            )
        )
    return found


def _made_up(chance: Random) -> str:
    """Mostly early hours, where clocks change, and not so often that the walk takes days."""

    def one_of(words: str) -> str:
        return chance.choice(words.split())

    any_minute, any_day, any_weekday = (
        chance.randrange(60),
        chance.randint(1, 31),
        chance.randint(0, 7),
    )
    minute = one_of(f"0 30 59 */{chance.randint(7, 30)} {any_minute} 1,31 20-40/5")
    hour = one_of(f"0 1 2 3 23 0-4 1,2,3 */2 */5 22-23,0-1 {chance.randrange(24)}")
    day = one_of(f"* * * 1 L LW */3 L-{any_day - 1} {any_day}W {any_day} 1-7 28-31 10,20,L")
    month = one_of("* * * 1-6 3,4,9,10,11 DEC */2 feb")
    weekday = one_of(
        f"* * * SUN 1-5 sat,sun */2 6-7 ? {any_weekday}L {any_weekday}#{chance.randint(1, 5)}"
    )
    if chance.random() < 0.1:
        return f"{one_of(f'0 30 15,45 {any_minute}')} * {day} {month} {weekday}"
    seconds = one_of(f"0 30 */30 0,59 {any_minute}") + " " if chance.random() < 0.1 else ""
    return f"{seconds}{minute} {hour} {day} {month} {weekday}"
