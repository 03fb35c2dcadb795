"""A node as it last beat."""

from __future__ import annotations

from typing import Final

from windlass.api.http.query import id_schema
from windlass.api.http.shapes import COUNT, INSTANT, TEXT, Named, listed, nullable, record

SCHEMAS: Final[Named] = {
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
}
