"""JSON Schemas of jobs: what is shown of one, what POST /v1/jobs takes (in the same words as
model/job/submission.py, which checks it), its past, dead letters, and deliveries.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Final, get_type_hints

import msgspec

from windlass import ids
from windlass.api.http.query import id_schema
from windlass.api.http.shapes import (
    ANY_OBJECT,
    BREAKER,
    COUNT,
    INSTANT,
    STATE,
    TEXT,
    Named,
    Schema,
    duration,
    listed,
    nullable,
    record,
    ref,
)
from windlass.api.jobs.view import JobView
from windlass.api.locks.view import ASK, CAPACITY
from windlass.api.schedules.work import ONCE
from windlass.limits import (
    BATCH_JOBS_MAX,
    DURATION_SECONDS_MAX,
    LOCKS_MAX,
    PARENTS_MAX,
    TAG_CHARS_MAX,
    TAGS_MAX,
    TIMEOUT_SECONDS_MAX,
)
from windlass.model.job.limit import LIMITS_SCHEMA
from windlass.model.job.states import PRIORITY_NAMES
from windlass.model.job.submission import FIELDS, ON_PARENT_FAILURE, PLACE_PATTERN
from windlass.model.job.task_log import LEVELS
from windlass.model.json.value_schema import (
    INSTANT_SCHEMA,
    NAME_SCHEMA,
    PRIORITY_SCHEMA,
    SECONDS_MIN,
    retry_schema,
    text_schema,
)
from windlass.strategies.input_schema import auth_schema, input_schemas

NUMBER: Final[Schema] = {"type": "number"}


def _job() -> Schema:
    schema = msgspec.json.schema_components([JobView])[1]["JobView"]
    properties: dict[str, Schema] = schema["properties"]
    told: dict[str, Schema] = {
        "id": id_schema("job"),
        "state": STATE,
        "priority": {"type": "string", "enum": list(PRIORITY_NAMES)},
        "input": ANY_OBJECT,
        "result": {"description": "What it returned"},
        "error": nullable(ref("Error")),
        "depends_on": listed(id_schema("job")),
        "tags": listed(TEXT),
        "locks": listed(TEXT),
        "limits": listed(_LIMIT_SHOWN),
        "retry": nullable(ref("RetryPolicy")),
        "execution_id": nullable(id_schema("execution")),
        "node_id": nullable(id_schema("node")),
        "progress": nullable(
            record(done=NUMBER, total=nullable(NUMBER), message=nullable(TEXT), at=INSTANT)
        ),
    }
    instants = get_type_hints(JobView)
    told |= {name: INSTANT for name, hint in instants.items() if hint == datetime}
    told |= {name: nullable(INSTANT) for name, hint in instants.items() if hint == datetime | None}
    shown = {
        name: told.get(name, {k: v for k, v in found.items() if k != "default"})
        for name, found in properties.items()
    }
    return {"type": "object", "properties": shown, "required": list(shown)}


def _policy() -> Schema:
    """As it was given, or as its kind has it."""
    seconds = {
        "description": 'Seconds, or text such as "30s"',
        "anyOf": [{"type": "number"}, {"type": "string"}],
    }
    return {
        "type": "object",
        "properties": {
            "max_attempts": {"type": "integer", "minimum": 1},
            "initial": {**seconds, "description": "The first rest, in seconds or as text"},
            "factor": NUMBER,
            "max": {**seconds, "description": "The longest rest, in seconds or as text"},
            "jitter": {"type": "boolean"},
        },
        "additionalProperties": True,
    }


_NULL: Final[Schema] = {"type": "null"}
_LIMIT_SHOWN: Final[Schema] = record(
    name=TEXT,
    max_running=nullable(CAPACITY),
    rate=nullable(NUMBER),
    per=listed(TEXT),
    lock={"type": "string", "description": "Under which it is counted"},
)


def _fields(parent: str) -> dict[str, Schema]:
    """What any job may have. `parent` is the pattern of those that it waits for."""
    own: dict[str, Schema] = {
        "queue": NAME_SCHEMA,
        "priority": PRIORITY_SCHEMA,
        "run_at": INSTANT_SCHEMA,
        "delay": duration(DURATION_SECONDS_MAX),
        "deadline": INSTANT_SCHEMA,
        "timeout": duration(TIMEOUT_SECONDS_MAX, SECONDS_MIN),
        "retry": retry_schema(),
        "depends_on": {
            "type": "array",
            "items": {"type": "string", "pattern": f"^({parent})$"},
            "maxItems": PARENTS_MAX,
        },
        "on_parent_failure": {"type": "string", "enum": list(ON_PARENT_FAILURE)},
        "tags": {"type": "array", "items": text_schema(TAG_CHARS_MAX), "maxItems": TAGS_MAX},
        "locks": {"type": "array", "items": ASK, "maxItems": LOCKS_MAX},
        "limits": LIMITS_SCHEMA,
        "unique_for": duration(DURATION_SECONDS_MAX, SECONDS_MIN),
        "debounce": duration(DURATION_SECONDS_MAX, SECONDS_MIN),
        "debounce_max": duration(DURATION_SECONDS_MAX, SECONDS_MIN),
    }
    return {
        name: nullable(own[name] if field.chars_max is None else text_schema(field.chars_max))
        for name, field in FIELDS.items()
        if name not in ("kind", "input")  # whose schemas depend on one another
    }


_SAID: Final[Schema] = {"not": _NULL}
# When it is due is said once; and what its parents' failure means, where it has some.
_CONTRARY: Final[list[Schema]] = [
    {
        "required": ["run_at", "delay"],
        "properties": {
            "run_at": {"type": "string"},
            "delay": {"type": ["number", "string"], "not": {"const": 0}},
        },
    },
    {
        "required": ["on_parent_failure"],
        "properties": {
            "on_parent_failure": {"type": "string"},
            "depends_on": {"anyOf": [_NULL, {"type": "array", "maxItems": 0}]},
        },
    },
]
# How long a key is unique, and what is debounced, is said of a key.
_CONTRARY_OF_KEY: Final[list[Schema]] = [
    *(
        {"required": [name], "properties": {name: _SAID, other: _NULL}}
        for name, other in (
            ("unique_for", "key"),
            ("debounce", "key"),
            ("debounce_max", "debounce"),
        )
    ),
    *(
        {"required": ["debounce", name], "properties": {"debounce": _SAID, name: _SAID}}
        for name in ("unique_for", "run_at", "delay", "depends_on")
    ),
]


def _jobs(kinds: Collection[str], shared: dict[str, Schema], contrary: list[Schema]) -> Schema:
    known = inputs()
    return {
        "oneOf": [
            {
                "title": f"{kind} job",
                "type": "object",
                "additionalProperties": False,
                "required": ["kind", "input"] if needs != ANY_OBJECT else ["kind"],
                "properties": {
                    "kind": {"const": kind},
                    "input": ref(_input_name(kind)) if needs != ANY_OBJECT else needs,
                    **shared,
                },
                **({"not": {"anyOf": contrary}} if contrary else {}),
            }
            for kind, needs in ((kind, known.get(kind, ANY_OBJECT)) for kind in sorted(kinds))
        ]
    }


def _input_name(kind: str) -> str:
    return f"{kind.capitalize()}Input"


def inputs() -> Named:
    """What each kind of our own needs as input."""
    return input_schemas(is_template=False, auth=ref("Auth"))


def batch() -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["jobs"],
        "properties": {
            "jobs": {
                "type": "array",
                "items": ref("BatchJob"),
                "minItems": 1,
                "maxItems": BATCH_JOBS_MAX,
            }
        },
    }


def schemas(kinds: Collection[str]) -> Named:
    job_id = id_schema("job")["pattern"].strip("^$")
    alone, contrary = _fields(job_id), _CONTRARY + _CONTRARY_OF_KEY
    return {
        "Submission": _jobs(kinds, alone, contrary),
        "BatchJob": _jobs(kinds, _fields(f"{job_id}|{PLACE_PATTERN}"), contrary),
        "ScheduledJob": _jobs(kinds, {**alone, **dict.fromkeys(ONCE, _NULL)}, _CONTRARY_OF_KEY),
        "Auth": auth_schema(is_template=False),
        **{
            _input_name(kind): schema
            for kind, schema in inputs().items()
            if kind in kinds and schema != ANY_OBJECT
        },
        "Ids": record(ids=listed(id_schema("job"))),
    }


# Whom events are of.
NOUNS: Final = ("job", "execution", "workflow", "queue", "node", "target", "secret")


HEADERS: Final[Schema] = {"type": "object", "additionalProperties": TEXT}
SCHEMAS: Final[Named] = {
    "Job": _job(),
    "RetryPolicy": _policy(),
    "Attempt": record(
        attempt=COUNT,
        node_id=nullable(id_schema("node")),
        started_at=INSTANT,
        ended_at=nullable(INSTANT),
        duration_ms=nullable({"type": "number"}),
        outcome=nullable(TEXT),
        next_run_at=nullable(INSTANT),
        error=nullable(ref("Error")),
        detail=nullable({**ANY_OBJECT, "description": "What its strategy keeps of it"}),
    ),
    "Event": record(
        id={"type": "string", "pattern": f"^{ids.PREFIXES['event']}[0-9a-f]+$"},
        at=INSTANT,
        type=TEXT,
        noun={"type": "string", "enum": list(NOUNS)},
        subject=TEXT,
        job_id=nullable(id_schema("job")),
        execution_id=nullable(id_schema("execution")),
        queue=nullable(TEXT),
        name=nullable(TEXT),
        data=ref("EventData"),
    ),
    # What an event of a job, a node or an execution says; others, and later ones, say more.
    "EventData": {
        "type": "object",
        "properties": {
            "state": TEXT,
            "outcome": nullable(TEXT),
            "attempt": COUNT,
            "cause": nullable(TEXT),
            "error": nullable(ref("Error")),
            "node_id": nullable(TEXT),
            "run_at": nullable(INSTANT),
            "from_run_at": {**nullable(INSTANT), "description": "When it was due before"},
            "reason": nullable(TEXT),
            "workflow": nullable(TEXT),
            "version": {"description": "Of the workflow, or of Windlass"},
        },
        "additionalProperties": True,
    },
    "LogLine": record(
        attempt=COUNT,
        at=INSTANT,
        level={"type": "string", "enum": list(LEVELS)},
        message=TEXT,
        fields=ANY_OBJECT,
    ),
    "Why": record(
        job_id=id_schema("job"),
        state=STATE,
        summary=TEXT,
        gates=listed(
            record(gate=TEXT, reason=TEXT, since=nullable(INSTANT), until=nullable(INSTANT))
        ),
        estimated_start=nullable(INSTANT),
    ),
    "DeadGroup": record(
        queue=TEXT,
        task=nullable(TEXT),
        target=nullable(TEXT),
        kind=TEXT,
        cause=TEXT,
        count=COUNT,
        first_at=INSTANT,
        last_at=INSTANT,
        sample_id=id_schema("job"),
    ),
    "Delivery": record(
        attempt=COUNT,
        fence=COUNT,
        node_id=nullable(id_schema("node")),
        started_at=INSTANT,
        duration_ms=nullable({"type": "number"}),
        outcome=nullable(TEXT),
        status_code=nullable({"type": "integer"}),
        error=nullable(ref("Error")),
        method=nullable(TEXT),
        request_headers=HEADERS,
        response_headers=HEADERS,
        response_excerpt=nullable(TEXT),
        timings_ms={"type": "object", "additionalProperties": {"type": "number"}},
        address=nullable(TEXT),
        is_reused=nullable({"type": "boolean"}),
        redirects=listed(TEXT),
    ),
    "WebhookStatus": record(
        state=STATE,
        deliveries=listed(ref("Delivery")),
        next_attempt_at=nullable(INSTANT),
        target=record(host=nullable(TEXT), breaker=BREAKER),
    ),
}
