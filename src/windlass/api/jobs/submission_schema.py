"""What POST /v1/jobs takes, in the same words as model/job/submission.py, which checks it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from windlass.api.http.query import id_schema
from windlass.api.http.shapes import (
    ANY_OBJECT,
    Named,
    Schema,
    duration,
    listed,
    nullable,
    record,
    ref,
)
from windlass.api.locks.lock_schema import ASK
from windlass.api.schedules.work import ONCE
from windlass.limits import (
    BATCH_JOBS_MAX,
    DURATION_SECONDS_MAX,
    KEY_CHARS_MAX,
    LOCKS_MAX,
    PARENTS_MAX,
    TAG_CHARS_MAX,
    TAGS_MAX,
    TIMEOUT_SECONDS_MAX,
)
from windlass.model.job.submission import ON_PARENT_FAILURE, PLACE_PATTERN
from windlass.model.json.value_schema import (
    INSTANT_SCHEMA,
    NAME_SCHEMA,
    PRIORITY_SCHEMA,
    SECONDS_MIN,
    retry_schema,
    text_schema,
)
from windlass.strategies.input_schema import auth_schema, input_schemas

_NULL: Final[Schema] = {"type": "null"}


def _fields(parent: str) -> dict[str, Schema]:
    """What any job may have. `parent` is the pattern of those that it waits for."""
    optional: dict[str, Schema] = {
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
        "key": text_schema(KEY_CHARS_MAX),
        "tags": {"type": "array", "items": text_schema(TAG_CHARS_MAX), "maxItems": TAGS_MAX},
        "correlation_id": text_schema(KEY_CHARS_MAX),
        "locks": {"type": "array", "items": ASK, "maxItems": LOCKS_MAX},
    }
    return {name: nullable(schema) for name, schema in optional.items()}


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
    alone = _fields(job_id)
    return {
        "Submission": _jobs(kinds, alone, _CONTRARY),
        "BatchJob": _jobs(kinds, _fields(f"{job_id}|{PLACE_PATTERN}"), _CONTRARY),
        "ScheduledJob": _jobs(kinds, {**alone, **dict.fromkeys(ONCE, _NULL)}, []),
        "Auth": auth_schema(is_template=False),
        **{
            _input_name(kind): schema
            for kind, schema in inputs().items()
            if kind in kinds and schema != ANY_OBJECT
        },
        "Ids": record(ids=listed(id_schema("job"))),
    }
