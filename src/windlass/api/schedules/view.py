"""Schedules and their firings as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from windlass import ids
from windlass.engine.schedules.known_rules import rule_of
from windlass.engine.schedules.schedule import Firing, Schedule
from windlass.errors import InvalidInput
from windlass.model.job.states import PRIORITY_NAMES
from windlass.model.json import strict as strict_json
from windlass.model.schedule.preview import preview
from windlass.model.schedule.read import RULE_FIELDS
from windlass.model.schedule.rule import Rule
from windlass.model.schedule.words import words

# With a zone: what it is when nothing is said.
_DEFAULTS: Final = {"timezone": "UTC"}
State = Literal["active", "paused", "ended"]


def schedule_view(schedule: Schedule) -> dict[str, Any]:
    given: dict[str, Any] = strict_json.parse(schedule.rule_json.encode())
    return {
        "id": ids.show("schedule", schedule.id),
        "name": schedule.name,
        "state": state_of(schedule),
        **{field: given.get(field, _DEFAULTS.get(field)) for field in RULE_FIELDS},
        "words": _words(schedule),
        "job": _object(schedule.job),
        "workflow": _object(schedule.workflow),
        "overlap": schedule.overlap,
        "misfire": schedule.misfire,
        "catchup": schedule.catchup_seconds,
        "priority": None if schedule.priority is None else PRIORITY_NAMES[schedule.priority],
        "tags": list(schedule.tags),
        "source": schedule.source,
        "owner": schedule.owner,
        "edition": schedule.edition,
        "next_at": schedule.next_at,
        "fire_at": schedule.fire_at,
        "last_at": schedule.last_at,
        "paused_at": schedule.paused_at,
        "note": schedule.note,
        "created_at": schedule.created_at,
        "changed_at": schedule.changed_at,
    }


def _words(schedule: Schedule) -> str:
    try:
        return words(rule_of(schedule.rule_json, schedule.name, schedule.created_at).rule)
    except (InvalidInput, ValueError) as trouble:
        # Zones and countries come and go with their databases; one such must not hide the others.
        return f"cannot be read any more: {trouble}"


def state_of(schedule: Schedule) -> State:
    if schedule.next_at is None:
        return "ended"
    return "active" if schedule.paused_at is None else "paused"


def firing_view(firing: Firing) -> dict[str, Any]:
    return {
        "instant": firing.instant,
        "state": firing.state,
        "fired_at": firing.fired_at,
        "late_seconds": firing.late_seconds,
        "reason": firing.reason,
        "job_id": _id("job", firing.job_id),
        "execution_id": _id("execution", firing.execution_id),
        "is_asked": firing.is_asked,
        "stands_for": firing.stands_for,
    }


def times_view(rule: Rule, after: datetime, most: int) -> dict[str, Any]:
    """The next instants, as the clocks there show them, and the rule in words."""
    return {
        "next": [
            {"instant": one.instant, "local": one.local.isoformat(), "note": one.note}
            for one in preview(rule, after, most)
        ],
        "words": words(rule),
    }


def _object(text: str | None) -> msgspec.Raw | None:
    return None if text is None else msgspec.Raw(text.encode())


def _id(noun: str, value: Any) -> str | None:
    return None if value is None else ids.show(noun, value)
