"""Schedules that fire alike: the same rule makes the same job, and nothing else matters.

Whoever puts a schedule writes what it is like; ten thousand reports at eight o'clock are then one
calculation, and a row each.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from uuid import UUID

from windlass.engine.schedules.fire_jobs import draft_of
from windlass.engine.schedules.known_rules import KnownRule, needs_of, rule_of
from windlass.engine.schedules.schedule import ScheduleDraft
from windlass.errors import InvalidInput
from windlass.limits import RULES_KEPT_MAX
from windlass.model.job.draft import Draft
from windlass.model.json import strict as strict_json
from windlass.model.schedule.placeholder import INSTANT
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


def alike_of(draft: ScheduleDraft) -> UUID | None:
    """The same for all that fire alike; None: what it does depends on more than rule and job."""
    rule = strict_json.parse(draft.rule_json.encode())
    is_own = draft.job is None or draft.overlap != "allow" or bool(rule.get("jitter"))
    is_own = is_own or INSTANT in (draft.job or "")
    if is_own or any(needs_of(draft.rule_json)):
        return None
    said = strict_json.write([draft.rule_json, draft.job, draft.owner, draft.priority])
    return UUID(bytes=hashlib.sha256(said.encode()).digest()[:16])


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What all that are alike have in common."""

    rule: KnownRule
    draft: Draft


@dataclass(slots=True)
class Patterns:
    """Those met last, for one number of attempts that a job has unless it says."""

    max_attempts: int
    _known: dict[UUID, Pattern | None] = field(default_factory=dict)

    async def learn(self, connection: Connection[Record], examples: dict[UUID, UUID]) -> None:
        """`examples`: of each that may be asked for, a schedule that is like it."""
        new = [example for alike, example in examples.items() if alike not in self._known]
        if not new:
            return
        if len(self._known) + len(new) > RULES_KEPT_MAX:
            self._known.clear()
            new = list(examples.values())
        for row in await connection.fetch(statement("schedule_read_many"), new):
            self._known[row["alike"]] = self._read(row)

    def get(self, alike: UUID) -> Pattern | None:
        """None: it turned out not to be plain, and each of them goes its own way."""
        return self._known.get(alike)

    def _read(self, row: Record) -> Pattern | None:
        try:
            rule = rule_of(row["rule"], "", row["created_at"])
            draft = draft_of(row["job"], row["owner"], row["priority"], self.max_attempts)
        except InvalidInput:
            return None  # alone, it will say what is wrong with it
        return Pattern(rule=rule, draft=draft) if draft.is_plain else None
