"""What POST /v1/jobs takes, in the same words as model/submission.py, which checks it."""

from __future__ import annotations

from collections.abc import Iterable

from windlass.api.query import INSTANT_SCHEMA, NAME_SCHEMA, id_schema, text_schema
from windlass.api.schemas.lock import ASK
from windlass.api.schemas.shape import (
    ANY_OBJECT,
    TEXT,
    Named,
    Schema,
    duration,
    listed,
    nullable,
    record,
    ref,
)
from windlass.limits import (
    ATTEMPTS_MAX,
    BATCH_JOBS_MAX,
    DURATION_SECONDS_MAX,
    KEY_CHARS_MAX,
    LOCKS_MAX,
    PARENTS_MAX,
    TAG_CHARS_MAX,
    TAGS_MAX,
    TIMEOUT_SECONDS_MAX,
)
from windlass.model.priority import NAMES


def _retry() -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "max_attempts": {"type": "integer", "minimum": 1, "maximum": ATTEMPTS_MAX},
            "initial": duration(DURATION_SECONDS_MAX),
            "factor": {"type": "number", "minimum": 1, "maximum": 100},
            "max": duration(DURATION_SECONDS_MAX),
            "jitter": {"type": "boolean"},
        },
    }


def submission(kinds: Iterable[str]) -> Schema:
    """The body of POST /v1/jobs."""
    optional: dict[str, Schema] = {
        "queue": NAME_SCHEMA,
        "priority": {"type": "string", "enum": list(NAMES)},
        "run_at": INSTANT_SCHEMA,
        "delay": duration(DURATION_SECONDS_MAX),
        "deadline": INSTANT_SCHEMA,
        "timeout": duration(TIMEOUT_SECONDS_MAX, 0.001),
        "retry": _retry(),
        "depends_on": {
            "type": "array",
            "items": {"type": "string", "pattern": "^(job_[0-9a-f]{32}|#[0-9]{1,6})$"},
            "maxItems": PARENTS_MAX,
        },
        "on_parent_failure": {"type": "string", "enum": ["skip", "fail", "run"]},
        "key": text_schema(KEY_CHARS_MAX),
        "tags": {"type": "array", "items": text_schema(TAG_CHARS_MAX), "maxItems": TAGS_MAX},
        "correlation_id": text_schema(KEY_CHARS_MAX),
        "locks": {"type": "array", "items": ASK, "maxItems": LOCKS_MAX},
    }
    shared = {name: nullable(schema) for name, schema in optional.items()}
    return {
        "oneOf": [
            {
                "title": f"{kind} job",
                "type": "object",
                "additionalProperties": False,
                "required": ["kind", "input"] if "required" in needs else ["kind"],
                "properties": {"kind": {"const": kind}, "input": needs, **shared},
            }
            for kind, needs in ((kind, inputs().get(kind, ANY_OBJECT)) for kind in sorted(kinds))
        ]
    }


def inputs() -> Named:
    """What each kind of our own needs as input."""
    texts: Schema = {"type": "object", "additionalProperties": TEXT}
    long = duration(DURATION_SECONDS_MAX)
    return {
        "noop": ANY_OBJECT,
        "wait": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"seconds": long, "duration": long, "until": INSTANT_SCHEMA},
            "minProperties": 1,
            "maxProperties": 1,
            "required": [],
        },
        "http": {
            "type": "object",
            "required": ["url"],
            "properties": {
                "url": {"type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://"},
                "method": TEXT,
                "headers": texts,
                "json": {},
                "text": TEXT,
                "form": texts,
                "base64": TEXT,
            },
        },
        "python": {
            "type": "object",
            "required": ["task"],
            "properties": {
                "task": text_schema(KEY_CHARS_MAX),
                "args": {"type": "array"},
                "kwargs": ANY_OBJECT,
            },
        },
    }


def batch() -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["jobs"],
        "properties": {
            "jobs": {
                "type": "array",
                "items": ref("Submission"),
                "minItems": 1,
                "maxItems": BATCH_JOBS_MAX,
            }
        },
    }


def schemas(kinds: Iterable[str]) -> Named:
    return {
        "Submission": submission(kinds),
        "Ids": record(ids=listed(id_schema("job"))),
    }
