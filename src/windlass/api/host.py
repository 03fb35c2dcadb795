"""A target's host as callers write it: in a path, a query or a filter.

The pattern is published, so it says what is taken: a name or an address, and a port unless that is
443. Whatever a job's address can hold as its host can be asked for here.
"""

from __future__ import annotations

import re
from typing import Any, Final

from windlass.api.query import Param
from windlass.model.target import read_target

# Unreserved and sub-delimiters of RFC 3986, and letters beyond ASCII but for the blocks that hold
# look-alikes of / ? # @ and : .
_NAME: Final = r"[A-Za-z0-9._~!$&'()*+,;=\u00a1-\u1fff\u2c00-\ud7ff-]{1,253}"
_GROUP: Final = "[0-9A-Fa-f]{1,4}"
_OCTET: Final = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_V6: Final = "|".join(
    [
        f"({_GROUP}:){{7}}{_GROUP}",
        f"::(({_GROUP}:){{0,5}}{_GROUP})?",
        f"({_GROUP}:){{1,6}}:",
        rf"::([Ff]{{4}}:)?({_OCTET}\.){{3}}{_OCTET}",
        *(f"({_GROUP}:){{1,{n}}}(:{_GROUP}){{1,{7 - n}}}" for n in range(1, 7)),
    ]
)
_PORT: Final = (
    "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
)
HOST_PATTERN: Final = rf"({_NAME}|\[({_V6})\])(:{_PORT})?"
_HOST: Final = re.compile(HOST_PATTERN)
HOST_SCHEMA: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": f"^{HOST_PATTERN}$",
    "description": "A host, with its port unless that is 443",
}


def read_host(value: object) -> str:
    """The target, written our way. Raises ValueError that says what one looks like."""
    if not isinstance(value, str) or not _HOST.fullmatch(value):
        raise ValueError("must be a host, with its port unless that is 443: shop.example:8080")
    return read_target(value)


def target_param() -> Param:
    return Param(
        name="target",
        read=read_host,
        description="Jobs that call this target",
        schema=HOST_SCHEMA,
    )
