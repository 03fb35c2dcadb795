"""A target's host as callers write it: in a path, a query or a filter.

The pattern is published, so what fits it is taken: a name or an address, and a port unless that is
443. Other spellings that a job's address can have, such as letters beyond ASCII, are taken too.
"""

from __future__ import annotations

from typing import Any, Final

from windlass.api.http.query import Param
from windlass.model.job.target import HOST_PATTERN, PORT_PATTERN, WORDS_PATTERN, read_target

HOST_SCHEMA: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": f"^{HOST_PATTERN}$",
    "description": "A host, with its port unless that is 443",
}

# Where a secret may go: a target, or all below a name.
BOUND_SCHEMA: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": rf"^({HOST_PATTERN}|\*\.{WORDS_PATTERN}(:{PORT_PATTERN})?)$",
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
