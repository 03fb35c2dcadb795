"""One thing that the doctor found wrong."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Finding:
    check: str
    subject: str  # which job or queue
    detail: str
    repair: str | None = None  # what a repair would do; None: somebody must decide
    is_repaired: bool = False
