"""A hook of Schemathesis: every generated request is one of its own.

A valid key that was used before is refused with another body, and rightly so: no schema says that.
"""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import schemathesis

from windlass.api.idempotency import HEADER, KEY_SCHEMA


@schemathesis.hook
def before_call(_ctx: Any, case: Any, _kwargs: dict[str, Any]) -> None:
    if case.meta is not None and case.meta.generation.mode.is_negative:
        return  # it is to be refused in any case
    given = (case.headers or {}).get(HEADER)
    if isinstance(given, str) and re.fullmatch(KEY_SCHEMA["pattern"], given):
        case.headers[HEADER] = uuid4().hex
