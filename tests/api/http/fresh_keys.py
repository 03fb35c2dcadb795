"""A hook of Schemathesis: every generated request is one of its own, and valid ones are valid.

A valid key that was used before is refused with another body, and rightly so: no schema says that.
Nor is a null in a path a request that fits its schema: a job of no execution shows null
as the id of one, and links between operations hand it on.
For If-Match and If-None-Match it has ideas of its own, beside the schema that it is given.
With WINDLASS_TEST_SHARE=7 one in seven of the requests to each operation is sent, evenly chosen.
Whoever imports this also generates requests at half the price (tests/api/http/memoized.py).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import Any
from uuid import uuid4

import schemathesis

from tests.api.http.memoized import memoize
from windlass import ids
from windlass.api.http.idempotency import HEADER, KEY_SCHEMA
from windlass.model.json.etag import HEADER_PATTERN, IF_MATCH, IF_NONE_MATCH, tag_of

memoize()

_SHARE = int(os.environ.get("WINDLASS_TEST_SHARE", "1"))
_seen: Counter[str] = Counter()


if _SHARE > 1:

    @schemathesis.hook
    def filter_case(_ctx: Any, case: Any) -> bool:
        _seen[case.operation.label] += 1
        return _seen[case.operation.label] % _SHARE == 1


@schemathesis.hook
def before_call(_ctx: Any, case: Any, _kwargs: dict[str, Any]) -> None:
    if case.meta is not None and case.meta.generation.mode.is_negative:
        return  # it is to be refused in any case
    freshen(case)


def freshen(case: Any) -> None:
    """A valid request as one of its own."""
    given = (case.headers or {}).get(HEADER)
    if isinstance(given, str) and re.fullmatch(KEY_SCHEMA["pattern"], given):
        case.headers[HEADER] = uuid4().hex
    for name, value in (case.path_parameters or {}).items():
        if value is None:
            case.path_parameters[name] = ids.PREFIXES[name.removesuffix("_id")] + "0" * 32
    for condition in (IF_MATCH, IF_NONE_MATCH):
        given = (case.headers or {}).get(condition)
        if isinstance(given, str) and not re.fullmatch(HEADER_PATTERN, given):
            case.headers[condition] = tag_of(given)
