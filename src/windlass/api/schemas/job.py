"""A job as it is shown: taken from the structure that is sent (`api.view`)."""

from __future__ import annotations

from typing import Final

import msgspec

from windlass.api.query import id_schema
from windlass.api.schemas.shape import (
    ANY_OBJECT,
    INSTANT,
    STATE,
    TEXT,
    Named,
    Schema,
    listed,
    nullable,
    record,
)
from windlass.api.view import JobView
from windlass.model.priority import NAMES

NUMBER: Final[Schema] = {"type": "number"}


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
        "locks": listed(TEXT),
        "retry": nullable(ANY_OBJECT),
        "execution_id": nullable(id_schema("execution")),
        "node_id": nullable(id_schema("node")),
        "progress": nullable(
            record(done=NUMBER, total=nullable(NUMBER), message=nullable(TEXT), at=INSTANT)
        ),
    }
    shown = {
        name: told.get(name, {k: v for k, v in found.items() if k != "default"})
        for name, found in properties.items()
    }
    return {"type": "object", "properties": shown, "required": list(shown)}


SCHEMAS: Final[Named] = {"Job": _job()}
