"""A cache of schedule rules (cron, every, at) and their next instants: a hundred thousand schedules
have few rules between them.

A rule depends on its text; on its schedule's name only where it spreads by it (`H`), and on when
the schedule was made only where it counts from there (`every`). So most schedules share theirs, and
with it the next instants that were worked out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from typing import NamedTuple
from uuid import UUID

from windlass.limits import NEXTS_OF_RULE_MAX, RULES_KEPT_MAX
from windlass.model.json import strict as strict_json
from windlass.model.schedule.decision import Pending, pending
from windlass.model.schedule.next import next_after
from windlass.model.schedule.read import read_rule
from windlass.model.schedule.rule import Rule, fire_at


@dataclass(slots=True, eq=False)
class KnownRule:
    rule: Rule
    _nexts: dict[datetime, datetime | None] = field(default_factory=dict)

    def next_after(self, after: datetime) -> datetime | None:
        known = self._nexts
        if after in known:
            return known[after]
        if len(known) >= NEXTS_OF_RULE_MAX:
            known.clear()
        found = known[after] = next_after(self.rule, after)
        return found

    def fire_at(self, schedule_id: UUID, instant: datetime) -> datetime:
        """When it goes: with its jitter."""
        return fire_at(schedule_id, instant, self.rule.jitter_seconds)

    def pending(
        self, schedule_id: UUID, next_at: datetime, now: datetime, is_hasty: bool = False
    ) -> Pending:
        """`is_hasty`: without jitter."""
        following = self.next_after(next_at)
        if following is None or following > now:
            # Nearly always: the one that is due, and the next is not.
            return Pending(instants=(next_at,), older=0, next_at=following)
        if is_hasty:
            return pending(self.rule, next_at, now, lambda instant: instant)
        return pending(self.rule, next_at, now, partial(self.fire_at, schedule_id))


def rule_of(text: str, name: str, created_at: datetime) -> KnownRule:
    """The rule of a schedule, from what is stored."""
    needs = needs_of(text)
    return _known(text, name if needs.name else "", created_at if needs.created_at else None)


class Needs(NamedTuple):
    """What a rule depends on beside its text."""

    name: bool
    created_at: bool


@lru_cache(maxsize=RULES_KEPT_MAX)
def needs_of(text: str) -> Needs:
    given = strict_json.parse(text.encode())
    cron = given.get("cron") or ""
    return Needs(name="H" in cron.upper() and not cron.startswith("@"), created_at="every" in given)


@lru_cache(maxsize=RULES_KEPT_MAX)
def _known(text: str, name: str, created_at: datetime | None) -> KnownRule:
    return KnownRule(read_rule(strict_json.parse(text.encode()), name=name, anchor_at=created_at))
