"""How executions are kept up to date."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from windlass.api.http.query import id_schema
from windlass.api.http.shapes import COUNT, INSTANT, Named, Schema, nullable, record
from windlass.engine.executions.refresh_tally import Tally
from windlass.model.workflow.refresh import SHARDS

_NUMBER: Final[Schema] = {"type": "number"}
_COUNTED: Final = [one.name for one in fields(Tally) if one.type == "int"]

SCHEMAS: Final[Named] = {
    "Shard": record(
        shard={"type": "integer", "minimum": 0, "maximum": SHARDS - 1},
        node_id=nullable(id_schema("node")),
        marks=nullable(COUNT),
        inflight=nullable(COUNT),
    ),
    "Refresh": record(
        node_id=id_schema("node"),
        interval_seconds=_NUMBER,
        oldest_seconds=nullable(_NUMBER),
        **dict.fromkeys(_COUNTED, COUNT),
        last=nullable(record(at=INSTANT, executions=COUNT, ended=COUNT, seconds=_NUMBER)),
        per_second=_NUMBER,
    ),
}
