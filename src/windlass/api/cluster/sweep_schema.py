"""What a sweep of dead coordinators did."""

from __future__ import annotations

from typing import Final

from windlass.api.http.shapes import COUNT, TEXT, Named, listed, record

SCHEMAS: Final[Named] = {
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
}
