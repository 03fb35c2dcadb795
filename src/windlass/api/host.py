"""A target's host as callers write it: in a path, a query or a filter.

The pattern is published, so what fits it is taken: a name or an address, and a port unless that is
443. Other spellings that a job's address can have, such as letters beyond ASCII, are taken too.
"""

from __future__ import annotations

from typing import Any, Final

from windlass.api.query import Param
from windlass.model.target import read_target

_GROUP: Final = "[0-9A-Fa-f]{1,4}"
_OCTET: Final = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_LABEL: Final = "[A-Za-z0-9_-]{1,63}"
# The last label begins with a letter: what ends with a number is an address, or nothing.
_WORDS: Final = rf"({_LABEL}\.){{0,3}}[A-Za-z_][A-Za-z0-9_-]{{0,57}}\.?"
_NAME: Final = rf"{_WORDS}|({_OCTET}\.){{3}}{_OCTET}"
_V6: Final = "|".join(
    [
        f"({_GROUP}:){{7}}{_GROUP}",
        f"::(({_GROUP}:){{0,5}}{_GROUP})?",
        f"({_GROUP}:){{1,6}}:",
        rf"::[Ff]{{4}}:({_OCTET}\.){{3}}{_OCTET}",
        *(f"({_GROUP}:){{1,{n}}}(:{_GROUP}){{1,{7 - n}}}" for n in range(1, 7)),
    ]
)
_PORT: Final = (
    "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
)
HOST_PATTERN: Final = rf"({_NAME}|\[({_V6})\])(:{_PORT})?"
HOST_SCHEMA: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": f"^{HOST_PATTERN}$",
    "description": "A host, with its port unless that is 443",
}

# Where a secret may go: a target, or all below a name.
BOUND_SCHEMA: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": rf"^({HOST_PATTERN}|\*\.{_WORDS}(:{_PORT})?)$",
    "description": "A host, with its port unless that is 443; `*.` stands for labels before it",
}


def read_host(value: object) -> str:
    """The target, written our way. Raises ValueError that says what one looks like."""
    if not isinstance(value, str):
        raise ValueError("must be a host, with its port unless that is 443: shop.example:8080")
    return read_target(value)


def target_param() -> Param:
    return Param(
        name="target",
        read=read_host,
        description="Jobs that call this target",
        schema=HOST_SCHEMA,
    )
