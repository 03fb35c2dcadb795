"""windlass.enqueue(jsonb), as a program in any language would call it."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.engine.hands import row, value
from windlass import ids
from windlass.store.database import Database, Record

CALL: Final = "SELECT windlass.enqueue($1::text::jsonb)"


async def enqueue(database: Database, **fields: Any) -> Record:
    """The row of a noop with these fields."""
    shown = await value(database, CALL, json.dumps({"kind": "noop", **fields}))
    return await row(database, ids.parse("job", shown))
