"""Schedules as they come in and go out, their firings, and when they are due next."""

from __future__ import annotations

from typing import Any, Final

from windlass.api.query import INSTANT_SCHEMA, NAME_SCHEMA, id_schema, text_schema
from windlass.api.schedule_body import MISFIRES, OVERLAPS
from windlass.api.schedule_filter import NAMES_MAX, SOURCES
from windlass.api.schedule_work import VERSION_MAX
from windlass.api.schemas.shape import (
    ANY_OBJECT,
    COUNT,
    INSTANT,
    TEXT,
    Named,
    Schema,
    duration,
    listed,
    nullable,
    record,
)
from windlass.limits import (
    AT_INSTANTS_MAX,
    CALENDAR_COUNTRIES_MAX,
    CALENDAR_DAYS_MAX,
    CRON_CHARS_MAX,
    DURATION_SECONDS_MAX,
    EVERY_SECONDS_MIN,
    JITTER_SECONDS_MAX,
    NAME_CHARS_MAX,
    TAG_CHARS_MAX,
    TAGS_MAX,
)
from windlass.model.priority import NAMES

FIRING_STATES: Final = ("fired", "late", "skipped", "coalesced")
_TAGS: Final[Schema] = {**listed(text_schema(TAG_CHARS_MAX)), "maxItems": TAGS_MAX}
_PRIORITY: Final[Schema] = {"type": "string", "enum": list(NAMES)}


def _fields(**properties: Schema) -> Schema:
    """An object whose fields may each be left out, or null."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: nullable(schema) for name, schema in properties.items()},
    }


def _enum(choices: Any) -> Schema:
    return {"type": "string", "enum": list(choices)}


_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def _any_case(word: str) -> str:
    return "".join(f"[{letter}{letter.upper()}]" for letter in word)


_WEEKDAY: Final[Schema] = {
    "description": "Its name, or the first three letters of it",
    "type": "string",
    "pattern": "^("
    + "|".join(f"{_any_case(day[:3])}({_any_case(day[3:])})?" for day in _WEEKDAYS)
    + ")$",
}
_DATE: Final[Schema] = {
    "type": "string",
    "format": "date",
    "pattern": "^(19[7-9][0-9]|[2-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|9990)-[0-9]{2}-[0-9]{2}$",
}
_YEARLY: Final[Schema] = {
    "type": "string",
    "pattern": "^((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    "|02-(0[1-9]|[12][0-9]))$",
}
_DAY: Final[Schema] = {
    "description": "A date, or the month and the day of every year",
    "anyOf": [_DATE, _YEARLY],
}
_RANGE: Final[Schema] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["from", "to"],
    "properties": {"from": _DATE, "to": _DATE},
}
RULE: Final[dict[str, Schema]] = {
    "cron": {
        "type": "string",
        "minLength": 1,
        "maxLength": CRON_CHARS_MAX,
        "description": "Five fields, or six with the second first; @daily and its kin; H L W #",
    },
    "every": {
        **duration(DURATION_SECONDS_MAX, EVERY_SECONDS_MIN),
        "description": "Elapsed time between two instants, counted from starts_at",
    },
    "at": {
        "description": "One instant, or several",
        "anyOf": [
            INSTANT_SCHEMA,
            {**listed(INSTANT_SCHEMA), "minItems": 1, "maxItems": AT_INSTANTS_MAX},
        ],
    },
    "timezone": {"type": "string", "description": "Of the IANA database; UTC unless said"},
    "dst": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "gap": _enum(("next", "skip")),
            "overlap": _enum(("first", "second", "both")),
        },
    },
    "starts_at": INSTANT_SCHEMA,
    "ends_at": INSTANT_SCHEMA,
    "jitter": duration(JITTER_SECONDS_MAX),
    "calendar": {
        "description": "Days off, and where what falls on them goes",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "weekdays": {"type": "array", "items": _WEEKDAY, "maxItems": 7},
            "dates": {"type": "array", "items": _DAY, "maxItems": CALENDAR_DAYS_MAX},
            "ranges": {"type": "array", "items": _RANGE, "maxItems": CALENDAR_DAYS_MAX},
            "countries": {"type": "array", "items": TEXT, "maxItems": CALENDAR_COUNTRIES_MAX},
            "shift": _enum(("none", "next", "previous")),
        },
    },
}
_SENT: Final[dict[str, Schema]] = {
    **RULE,
    "job": {**ANY_OBJECT, "description": "As of POST /v1/jobs, without instants of its own"},
    "workflow": {
        "anyOf": [
            NAME_SCHEMA,
            {
                **_fields(
                    name=NAME_SCHEMA,
                    version={"type": "integer", "minimum": 1, "maximum": VERSION_MAX},
                    input=ANY_OBJECT,
                ),
                "required": ["name"],
            },
        ]
    },
    "overlap": _enum(OVERLAPS),
    "misfire": _enum(MISFIRES),
    "catchup": duration(DURATION_SECONDS_MAX),
    "priority": _PRIORITY,
    "tags": _TAGS,
    "source": _enum(SOURCES),
}
_NAME: Final[Schema] = {**NAME_SCHEMA, "not": {"pattern": "^(sch_.*|pause|resume|preview)$"}}
CREATE: Final[Schema] = {**_fields(name=_NAME, **_SENT), "required": ["name"]}
CHANGE: Final[Schema] = _fields(name=_NAME, **_SENT)
FILTER: Final[Schema] = _fields(
    names={**listed(NAME_SCHEMA), "maxItems": NAMES_MAX},
    prefix=text_schema(NAME_CHARS_MAX),
    tags=_TAGS,
    source=_enum(SOURCES),
    workflow=NAME_SCHEMA,
    queue=NAME_SCHEMA,
)
_TIME: Final = record(instant=INSTANT, local=TEXT, note=nullable(TEXT))

SCHEMAS: Final[Named] = {
    "ScheduleDraft": CREATE,
    "ScheduleChange": CHANGE,
    "ScheduleFilter": FILTER,
    "Schedule": record(
        id=id_schema("schedule"),
        name=TEXT,
        state=_enum(("active", "paused", "ended")),
        cron=nullable(TEXT),
        every={
            "description": "As it was given; null: it goes by another rule",
            "type": ["number", "string", "null"],
        },
        at={
            "description": "As it was given; null: it goes by another rule",
            "anyOf": [TEXT, listed(TEXT), {"type": "null"}],
        },
        timezone=TEXT,
        dst=nullable(RULE["dst"]),
        starts_at=nullable(INSTANT),
        ends_at=nullable(INSTANT),
        jitter={"description": "As it was given", "type": ["number", "string", "null"]},
        calendar={**nullable(ANY_OBJECT), "description": "As it was given"},
        words={"type": "string", "description": "The rule, as one would say it"},
        job=nullable(ANY_OBJECT),
        workflow=nullable(record(name=TEXT, version=nullable(COUNT), input=ANY_OBJECT)),
        overlap=_enum(OVERLAPS),
        misfire=_enum(MISFIRES),
        catchup=nullable({"type": "number"}),
        priority=nullable(_PRIORITY),
        tags=listed(TEXT),
        source=_enum(SOURCES),
        owner=nullable(TEXT),
        edition=COUNT,
        next_at=nullable(INSTANT),
        fire_at=nullable(INSTANT),
        last_at=nullable(INSTANT),
        paused_at=nullable(INSTANT),
        note=nullable(TEXT),
        created_at=INSTANT,
        changed_at=INSTANT,
    ),
    "Firing": record(
        instant=INSTANT,
        state=_enum(FIRING_STATES),
        fired_at=INSTANT,
        late_seconds={"type": "number"},
        reason=nullable(TEXT),
        job_id=nullable(id_schema("job")),
        execution_id=nullable(id_schema("execution")),
        is_asked={"type": "boolean"},
        stands_for=COUNT,
    ),
    "ScheduleTimes": record(next=listed(_TIME), words=TEXT),
    "SchedulesChanged": record(names=listed(TEXT), count=COUNT),
    "Backfill": record(
        dry_run={"type": "boolean"},
        count=COUNT,
        made=nullable(COUNT),
        limit=COUNT,
        fired=COUNT,
        skipped=COUNT,
    ),
}
