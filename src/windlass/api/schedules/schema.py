"""JSON Schemas of schedules as they come in and go out, of firings and of next instants."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Final

from windlass.api.http.query import id_schema
from windlass.api.http.shapes import (
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
    ref,
)
from windlass.api.schedules.body import MISFIRES, OVERLAPS, RESERVED
from windlass.api.schedules.filter import NAMES_MAX, SOURCES
from windlass.api.schedules.work import VERSION_MAX
from windlass.ids import PREFIXES
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
from windlass.model.json.value_schema import (
    DATE_PATTERN,
    NAME_SCHEMA,
    PRIORITY_SCHEMA,
    instant_before,
    text_schema,
)
from windlass.model.schedule.calendar import COUNTRY_PATTERN
from windlass.model.schedule.calendar_read import WEEKDAYS
from windlass.model.schedule.cron import NICKNAMES, YEAR_MAX
from windlass.model.schedule.read import WHEN
from windlass.model.schedule.zone import ZONE_CHARS_MAX, ZONE_PATTERN

FIRING_STATES: Final = ("fired", "late", "skipped", "coalesced")
_TAGS: Final[Schema] = {**listed(text_schema(TAG_CHARS_MAX)), "maxItems": TAGS_MAX}


def _fields(**properties: Schema) -> Schema:
    """An object whose fields may each be left out, or null."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: nullable(schema) for name, schema in properties.items()},
    }


def _enum(choices: Any) -> Schema:
    return {"type": "string", "enum": list(choices)}


def _any_case(word: str) -> str:
    return "".join(f"[{letter}{letter.upper()}]" for letter in word)


def _nickname(name: str) -> str:
    return "@" + _any_case(name.removeprefix("@"))


def _weekday(day: str) -> str:
    return f"{_any_case(day[:3])}({_any_case(day[3:])})?"


def _one_of(choices: Named) -> Schema:
    """Exactly one of these is there, and not null."""
    return {"oneOf": [{"required": [n], "properties": {n: s}} for n, s in choices.items()]}


def _two_of(choices: Named) -> list[Schema]:
    """Any two of them are there, and not null."""
    return [
        {"required": list(pair), "properties": {name: choices[name] for name in pair}}
        for pair in combinations(choices, 2)
    ]


_WEEKDAY: Final[Schema] = {
    "description": "Its name, or the first three letters of it",
    "type": "string",
    "pattern": f"^({'|'.join(map(_weekday, WEEKDAYS))})$",
}
_DATE: Final[Schema] = {
    "type": "string",
    "format": "date",
    "pattern": f"^{DATE_PATTERN}$",
    "not": {"pattern": "^999[1-9]"},
}
assert YEAR_MAX == 9990, "the pattern above says so"
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
_BOUND: Final = instant_before(YEAR_MAX)
_CALENDAR: Final[Schema] = {
    "description": "Days off, and where what falls on them goes",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "weekdays": {
            "type": "array",
            "items": _WEEKDAY,
            "maxItems": 7,
            # Some day of the week is left.
            "not": {"allOf": [{"contains": {"pattern": f"^{_weekday(day)}$"}} for day in WEEKDAYS]},
        },
        "dates": {"type": "array", "items": _DAY, "maxItems": CALENDAR_DAYS_MAX},
        "ranges": {"type": "array", "items": _RANGE, "maxItems": CALENDAR_DAYS_MAX},
        "countries": {
            "type": "array",
            "items": {"type": "string", "pattern": f"^{COUNTRY_PATTERN}$"},
            "maxItems": CALENDAR_COUNTRIES_MAX,
        },
        "shift": _enum(("none", "next", "previous")),
    },
    "anyOf": [
        {"required": [name], "properties": {name: {"minItems": 1}}}
        for name in ("weekdays", "dates", "ranges", "countries")
    ],
}
_FIELD: Final = "[0-9A-Za-z*,/#?()-]+"
_WHEN: Final[Named] = {
    "cron": {
        "type": "string",
        "maxLength": CRON_CHARS_MAX,
        "pattern": f"^ *({'|'.join(map(_nickname, NICKNAMES))}|{_FIELD}( +{_FIELD}){{4,5}}) *$",
        "description": "Five fields, or six with the second first; @daily and its kin; H L W #",
    },
    "every": {
        **duration(DURATION_SECONDS_MAX, EVERY_SECONDS_MIN),
        "description": "Elapsed time between two instants, counted from starts_at",
    },
    "at": {
        "description": "One instant, or several",
        "anyOf": [_BOUND, {**listed(_BOUND), "minItems": 1, "maxItems": AT_INSTANTS_MAX}],
    },
}
assert tuple(_WHEN) == WHEN
_RULE: Final[Named] = {
    **_WHEN,
    "timezone": {
        "type": "string",
        "description": "Of the IANA database; UTC unless said",
        "pattern": f"^{ZONE_PATTERN}$",
        "maxLength": ZONE_CHARS_MAX,
    },
    "dst": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "gap": _enum(("next", "skip")),
            "overlap": _enum(("first", "second", "both")),
        },
    },
    "starts_at": _BOUND,
    "ends_at": _BOUND,
    "jitter": duration(JITTER_SECONDS_MAX),
    "calendar": ref("ScheduleCalendar"),
}
_WHAT: Final[Named] = {
    "job": ref("ScheduledJob"),
    "workflow": {
        "anyOf": [
            NAME_SCHEMA,
            {
                "type": "object",
                "additionalProperties": False,
                "required": ["name"],
                "properties": {
                    "name": NAME_SCHEMA,
                    "version": nullable({"type": "integer", "minimum": 1, "maximum": VERSION_MAX}),
                    "input": nullable(ANY_OBJECT),
                },
            },
        ]
    },
}
_SENT: Final[Named] = {
    **_RULE,
    **_WHAT,
    "overlap": _enum(OVERLAPS),
    "misfire": _enum(MISFIRES),
    "catchup": duration(DURATION_SECONDS_MAX),
    "priority": PRIORITY_SCHEMA,
    "tags": _TAGS,
    "source": _enum(SOURCES),
}
# Which of them are there; what each may hold is said above.
_WHEN_GIVEN: Final[Named] = {
    "cron": {"type": "string"},
    "every": {"type": ["number", "string"]},
    "at": {"type": ["string", "array"], "items": {"type": "string"}},
}
_WHAT_GIVEN: Final[Named] = {
    "job": ref("ScheduledJob"),
    "workflow": {"type": ["string", "object"], "additionalProperties": True},
}
# Periods have no days that could be moved.
_EVERY_SHIFTED: Final[Schema] = {
    "required": ["every", "calendar"],
    "properties": {
        "every": {"type": ["number", "string"]},
        "calendar": {
            "type": "object",
            "additionalProperties": True,
            "required": ["shift"],
            "properties": {"shift": {"enum": ["next", "previous"]}},
        },
    },
}
_NAME: Final[Schema] = {
    **NAME_SCHEMA,
    "not": {"pattern": f"^({PREFIXES['schedule']}.*|{'|'.join(sorted(RESERVED))})$"},
}


def _whole(schema: Schema) -> Schema:
    """A schedule that says when and what."""
    return {
        **schema,
        "allOf": [_one_of(_WHEN_GIVEN), _one_of(_WHAT_GIVEN)],
        "not": _EVERY_SHIFTED,
    }


def _named() -> Schema:
    made = _fields(**_SENT)
    return {**made, "required": ["name"], "properties": {"name": _NAME, **made["properties"]}}


PREVIEW_RULE: Final[Schema] = {
    **_fields(**_RULE),
    **_one_of(_WHEN_GIVEN),
    "not": _EVERY_SHIFTED,
}
CREATE: Final[Schema] = _whole(_named())
PUT: Final[Schema] = _whole(_fields(name=_NAME, **_SENT))
CHANGE: Final[Schema] = {
    **_fields(name=_NAME, **_SENT),
    "not": {"anyOf": [*_two_of(_WHEN_GIVEN), *_two_of(_WHAT_GIVEN), _EVERY_SHIFTED]},
}
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
    "SchedulePut": PUT,
    "ScheduleChange": CHANGE,
    "ScheduleCalendar": _CALENDAR,
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
        dst=nullable(_RULE["dst"]),
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
        priority=nullable(PRIORITY_SCHEMA),
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
