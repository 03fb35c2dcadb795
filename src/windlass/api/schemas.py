"""JSON Schemas of what goes in and out, for the OpenAPI document.

What goes out is taken from the structures that are sent (`view.py`); what comes in is checked by
model/submission.py and described here in the same words. tests/api compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from windlass import ids
from windlass.api.query import INSTANT_SCHEMA, NAME_SCHEMA, id_schema, text_schema
from windlass.api.view import JobView
from windlass.limits import (
    ATTEMPTS_MAX,
    BATCH_JOBS_MAX,
    DURATION_SECONDS_MAX,
    KEY_CHARS_MAX,
    PARENTS_MAX,
    TAG_CHARS_MAX,
    TAGS_MAX,
    TIMEOUT_SECONDS_MAX,
)
from windlass.model.operation import PHASES
from windlass.model.priority import NAMES
from windlass.model.states import STATES

Schema = dict[str, Any]

INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
TEXT: Final[Schema] = {"type": "string"}
ANY_OBJECT: Final[Schema] = {"type": "object"}
STATE: Final[Schema] = {"type": "string", "enum": list(STATES)}
BREAKER: Final[Schema] = {"type": "string", "enum": ["closed", "open", "half_open"]}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def record(**properties: Schema) -> Schema:
    """An object that always has all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def listed(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def page_of(name: str) -> Schema:
    return record(data=listed(ref(name)), next_cursor=nullable(TEXT))


def duration(seconds_max: float, seconds_min: float = 0) -> Schema:
    return {
        "description": 'Seconds, or text such as "30s", "5m", "2h", "7d"',
        "anyOf": [
            {"type": "number", "minimum": seconds_min, "maximum": seconds_max},
            {"type": "string", "pattern": "^[0-9]{1,9}([.][0-9]{1,6})?(ms|s|m|h|d)$"},
        ],
    }


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


def operation() -> Schema:
    """A change of one node."""
    return record(
        id=id_schema("operation"),
        kind={"type": "string", "enum": ["resize", "pause", "resume", "drain"]},
        node_id=id_schema("node"),
        parent_id=nullable(id_schema("operation")),
        phase={"type": "string", "enum": list(PHASES)},
        from_workers=COUNT,
        to_workers=nullable(COUNT),
        drain_seconds={"type": "number"},
        on_timeout={"type": "string", "enum": ["hand_back", "finish"]},
        progress=ANY_OBJECT,
        reason=nullable(TEXT),
        asked_by=nullable(TEXT),
        is_abort_asked={"type": "boolean"},
        created_at=INSTANT,
        changed_at=INSTANT,
        ended_at=nullable(INSTANT),
    )


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
        "locks": {"type": "array", "maxItems": 0},
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


def inputs() -> dict[str, Schema]:
    """What each kind of our own needs as input."""
    texts: Schema = {"type": "object", "additionalProperties": TEXT}
    long = duration(DURATION_SECONDS_MAX)
    return {
        "noop": ANY_OBJECT,
        "wait": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"seconds": long, "duration": long},
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


def _job() -> Schema:
    schema = msgspec.json.schema_components([JobView])[1]["JobView"]
    properties: dict[str, Schema] = schema["properties"]
    told: dict[str, Schema] = {
        "id": id_schema("job"),
        "state": STATE,
        "priority": {"type": "string", "enum": list(NAMES)},
        "input": ANY_OBJECT,
        "result": {"description": "What it returned"},
        "error": nullable({"type": "object", "required": ["cause", "message"]}),
        "depends_on": listed(id_schema("job")),
        "tags": listed(TEXT),
        "retry": nullable(ANY_OBJECT),
        "execution_id": nullable(id_schema("execution")),
        "node_id": nullable(id_schema("node")),
    }
    shown = {
        name: told.get(name, {k: v for k, v in found.items() if k != "default"})
        for name, found in properties.items()
    }
    return {"type": "object", "properties": shown, "required": list(shown)}


def _problem() -> Schema:
    error = record(pointer=TEXT, detail=TEXT)
    return {
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "request_id"],
        "properties": {
            "type": TEXT,
            "title": TEXT,
            "status": {"type": "integer"},
            "detail": TEXT,
            "code": TEXT,
            "request_id": TEXT,
            "errors": listed(error),
            "queue": TEXT,
            "limit": {"type": "integer"},
            "current": {"type": "integer"},
            "requested": {"type": "integer"},
            "unit": TEXT,
        },
    }


def _secret() -> dict[str, Schema]:
    return {
        "name": TEXT,
        "kind": {"type": "string", "enum": ["hmac", "ed25519", "derived", "other"]},
        "public_key": nullable(TEXT),
        "version": COUNT,
        "versions": COUNT,
        "created_at": INSTANT,
        "rotated_at": nullable(INSTANT),
        "overlap_until": nullable(INSTANT),
        "is_readable": {"type": "boolean"},
    }


def components(kinds: Iterable[str]) -> dict[str, Schema]:
    """Every named schema."""
    counts = record(**dict.fromkeys(STATES, COUNT))
    return {
        "Job": _job(),
        "Submission": submission(kinds),
        "Ids": record(ids=listed(id_schema("job"))),
        "Counts": counts,
        "Problem": _problem(),
        "Attempt": record(
            attempt=COUNT,
            node_id=nullable(id_schema("node")),
            started_at=INSTANT,
            ended_at=nullable(INSTANT),
            duration_ms=nullable({"type": "number"}),
            outcome=nullable(TEXT),
            next_run_at=nullable(INSTANT),
            error=nullable(ANY_OBJECT),
            detail=nullable(ANY_OBJECT),
        ),
        "Event": record(
            id={"type": "string", "pattern": f"^{ids.PREFIXES['event']}[0-9a-f]+$"},
            at=INSTANT,
            type=TEXT,
            noun={"type": "string", "enum": ["job", "queue", "node", "target", "secret"]},
            subject=TEXT,
            job_id=nullable(id_schema("job")),
            queue=nullable(TEXT),
            data=ANY_OBJECT,
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
            kind=TEXT,
            cause=TEXT,
            count=COUNT,
            first_at=INSTANT,
            last_at=INSTANT,
            sample_id=id_schema("job"),
        ),
        "Queue": record(
            name=TEXT,
            max_jobs=nullable(COUNT),
            max_bytes=nullable(COUNT),
            max_running=nullable(COUNT),
            rate=nullable({"type": "number"}),
            is_paused={"type": "boolean"},
            paused_at=nullable(INSTANT),
            created_at=INSTANT,
            counts=ref("Counts"),
            bytes=COUNT,
        ),
        "Target": record(
            host=TEXT,
            state={"type": "string", "enum": ["enabled", "disabled"]},
            disabled_at=nullable(INSTANT),
            disabled_reason=nullable(TEXT),
            rate=nullable({"type": "number"}),
            max_running=nullable(COUNT),
            breaker=record(
                state=BREAKER,
                opened_at=nullable(INSTANT),
                open_until=nullable(INSTANT),
                opens=COUNT,
                reason=nullable(TEXT),
                failures=COUNT,
                rest={"type": "number"},
                rest_max={"type": "number"},
            ),
            parked=COUNT,
            parked_more={"type": "boolean"},
            running=nullable(COUNT),
            succeeded=COUNT,
            failed=COUNT,
            last_answer_at=nullable(INSTANT),
            last_failure_at=nullable(INSTANT),
            created_at=INSTANT,
        ),
        "TargetSecret": record(host=TEXT, secrets=listed(TEXT), name=TEXT),
        "Secret": record(**_secret()),
        "SecretPut": {
            **record(**_secret()),
            "properties": {**_secret(), "value": {**TEXT, "description": "Only if generated"}},
        },
        "Delivery": record(
            attempt=COUNT,
            fence=COUNT,
            node_id=nullable(id_schema("node")),
            started_at=INSTANT,
            duration_ms=nullable({"type": "number"}),
            outcome=nullable(TEXT),
            status_code=nullable({"type": "integer"}),
            error=nullable(ANY_OBJECT),
            method=nullable(TEXT),
            request_headers=ANY_OBJECT,
            response_headers=ANY_OBJECT,
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
        "Stats": record(
            totals=ref("Counts"),
            bytes=COUNT,
            queues={"type": "object", "additionalProperties": ref("Counts")},
        ),
        "Node": record(
            id=id_schema("node"),
            name=TEXT,
            host=TEXT,
            pid=COUNT,
            version=TEXT,
            roles=listed(TEXT),
            workers=COUNT,
            in_flight=COUNT,
            memory_bytes=nullable(COUNT),
            cpu_percent=nullable({"type": "number"}),
            state={"type": "string", "enum": ["active", "draining", "left", "lost"]},
            is_paused={"type": "boolean"},
            paused_at=nullable(INSTANT),
            started_at=INSTANT,
            beat_at=INSTANT,
            beat_age_seconds={"type": "number"},
            lease_until=INSTANT,
        ),
        "Swept": record(
            checked=COUNT,
            stale=COUNT,
            removed_keys=COUNT,
            kept=COUNT,
            skipped=COUNT,
            ms={"type": "number"},
            per_second={"type": "number"},
            stale_ids=listed(TEXT),
            dry_run={"type": "boolean"},
            mode={"type": "string", "enum": ["scripted", "pipelined"]},
        ),
        "Leader": record(
            node_id=nullable(id_schema("node")),
            name=nullable(TEXT),
            term=COUNT,
            elected_at=nullable(INSTANT),
            lease_until=nullable(INSTANT),
        ),
        "Signalled": record(
            id=id_schema("signal"),
            acknowledged=listed(id_schema("node")),
            missing=listed(id_schema("node")),
            answers={"type": "object", "additionalProperties": ANY_OBJECT},
            reasons={"type": "object", "additionalProperties": TEXT},
        ),
        "Operation": operation(),
        "ClusterOperation": record(
            id=id_schema("operation"),
            kind={"type": "string", "enum": ["resize"]},
            phase={"type": "string", "enum": list(PHASES)},
            operations=listed(ref("Operation")),
        ),
        "Estimate": record(
            node_id=id_schema("node"),
            from_workers=COUNT,
            to_workers=COUNT,
            in_flight=COUNT,
            would_drain=COUNT,
            estimated_seconds=nullable({"type": "number"}),
        ),
        "Health": record(
            status={"type": "string", "enum": ["ok", "degraded", "down"]},
            queue_size=nullable(COUNT),
            jobs_executing=COUNT,
            last_execution=nullable(INSTANT),
            node_id=id_schema("node"),
            leader=nullable(id_schema("node")),
            workers=COUNT,
            is_draining={"type": "boolean"},
            database=ref("Part"),
            redis=ref("Part"),
            degraded=listed(TEXT),
        ),
        "Part": record(ok={"type": "boolean"}, ms=nullable({"type": "number"})),
    }
