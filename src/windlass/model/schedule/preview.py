"""What a rule will do next, for a person to check before it is trusted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from windlass.model.schedule.next import due
from windlass.model.schedule.note import note
from windlass.model.schedule.rule import Rule
from windlass.model.schedule.zone import local


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    instant: datetime
    local: datetime  # in the rule's time zone
    note: str | None  # None: nothing to say


def preview(rule: Rule, after: datetime, most: int) -> list[Preview]:
    """The next `most` instants after this one."""
    found: list[Preview] = []
    before = after
    for instant in islice(due(rule, after), most):
        there = local(rule.timezone, instant)
        found.append(Preview(instant=instant, local=there, note=note(rule, instant, before)))
        before = instant
    return found
