"""Why a rule has nothing more to fire: never, no longer, or not in its time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from windlass.limits import CALENDAR_HORIZON_YEARS
from windlass.model.schedule.cron import Cron
from windlass.model.schedule.cron_words import MONTHS, listed
from windlass.model.schedule.next import next_after
from windlass.model.schedule.rule import At, Rule


def why_silent(rule: Rule, after: datetime) -> tuple[str, str] | None:
    """Which field is to blame and why, when no instant follows `after`; else None."""
    if next_after(rule, after) is not None:
        return None
    if isinstance(rule.when, Cron) and rule.when.is_silent:
        return "cron", f"never: {_no_such_day(rule.when)}"
    if rule.ends_at is not None:
        if rule.ends_at <= after:
            return "ends_at", f"lies in the past: it ended at {rule.ends_at.isoformat()}"
        late = next_after(replace(rule, ends_at=None), after)
        if late is not None:
            return "ends_at", f"never: the next instant would be {late.isoformat()}, which is later"
    if isinstance(rule.when, At):
        if rule.starts_at is not None and rule.when.instants[-1] < rule.starts_at:
            return "starts_at", "never: every instant of it lies before starts_at"
        if rule.when.instants[-1] <= after:
            last = rule.when.instants[-1].isoformat()
            return "at", f"lies in the past: the last instant of it was {last}"
    if rule.calendar is None:
        return "starts_at", "never: no instant of it lies so far ahead"
    years = f"{CALENDAR_HORIZON_YEARS} years"
    return "calendar", f"never: it leaves none of the rule's days within {years}; use shift"


def _no_such_day(cron: Cron) -> str:
    months = listed([MONTHS[month] for month in cron.month.values], "or")
    is_any_weekday = len(cron.weekday.values) == 7
    if is_any_weekday and not cron.day.specials:
        days = listed([str(day) for day in cron.day.values], "or")
        return f"there is no {days} {months}; use L for the last day of a month"
    if is_any_weekday:
        return f"there is no day {cron.day.text} in {months}"
    return f"no day is both {cron.day.text} of {months} and {cron.weekday.text} of the week"
