"""What a node's caches have done, and who has dropped what it kept."""

from __future__ import annotations

from typing import Final

from windlass.api.http.query import id_schema
from windlass.api.http.shapes import COUNT, TEXT, Named, listed, nullable, record

SCHEMAS: Final[Named] = {
    "Cache": record(
        cache=TEXT,
        entries=COUNT,
        hits=COUNT,
        redis_hits=COUNT,
        loads=COUNT,
        errors=COUNT,
        hit_rate=nullable({"type": "number", "minimum": 0, "maximum": 1}),
    ),
    "Invalidated": record(
        acknowledged=listed(id_schema("node")),
        missing=listed(id_schema("node")),
        dropped=COUNT,
    ),
}
