"""Who leads."""

from __future__ import annotations

from typing import Final

from windlass.api.http.query import id_schema
from windlass.api.http.shapes import COUNT, INSTANT, TEXT, Named, nullable, record

SCHEMAS: Final[Named] = {
    "Leader": record(
        node_id=nullable(id_schema("node")),
        name=nullable(TEXT),
        term=COUNT,
        elected_at=nullable(INSTANT),
        lease_until=nullable(INSTANT),
    ),
}
