"""Who acknowledged a signal, and who did not."""

from __future__ import annotations

from typing import Final

from windlass.api.http.query import id_schema
from windlass.api.http.shapes import ANY_OBJECT, TEXT, Named, listed, record

SCHEMAS: Final[Named] = {
    "Signalled": record(
        id=id_schema("signal"),
        acknowledged=listed(id_schema("node")),
        missing=listed(id_schema("node")),
        answers={"type": "object", "additionalProperties": ANY_OBJECT},
        reasons={"type": "object", "additionalProperties": TEXT},
    ),
}
