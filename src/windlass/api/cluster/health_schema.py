"""How this process and what it depends on are."""

from __future__ import annotations

from typing import Final

from windlass.api.http.query import id_schema
from windlass.api.http.shapes import COUNT, INSTANT, TEXT, Named, listed, nullable, record, ref

SCHEMAS: Final[Named] = {
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
