"""Dead letters, grouped by what they have in common."""

from __future__ import annotations

from typing import Final

from windlass.api.http.query import id_schema
from windlass.api.http.shapes import COUNT, INSTANT, TEXT, Named, record

SCHEMAS: Final[Named] = {
    "DeadGroup": record(
        queue=TEXT,
        kind=TEXT,
        cause=TEXT,
        count=COUNT,
        first_at=INSTANT,
        last_at=INSTANT,
        sample_id=id_schema("job"),
    ),
}
