"""Bulk operations for people: what one would touch, how far one is, and what it has left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from windlass.cli.show.job import what
from windlass.cli.show.output import say
from windlass.cli.show.table import Column, columns
from windlass.model.job.bulk import BULK_ENDED, VERBS

GROUP: Final = (
    *columns("count", "state", "queue"),
    Column(title="what", take=what),
    *columns("cause"),
)
ROW: Final = (
    *columns("id", "verb", "phase", "matching", "done", "refused", "gone", "held", "rate"),
    *columns("filter", "created_at", "reason"),
)
PAGE: Final = (
    *columns("id", "verb", "phase", "filter", "named", "matching", "done", "refused", "gone"),
    *columns("held", "looked", "most", "rate", "reason", "asked_by", "created_at", "changed_at"),
    *columns("ended_at"),
)


def many(count: int) -> str:
    return f"{count:,} {'job' if count == 1 else 'jobs'}"


def count_of(seen: Mapping[str, Any]) -> str:
    """`4,211 jobs`, or `at least 4,211 jobs`."""
    return ("" if seen["is_exact"] else "at least ") + many(seen["matching"])


def matching(seen: Mapping[str, Any]) -> str:
    """`4,211 jobs match`."""
    return f"{count_of(seen)} {'matches' if seen['matching'] == 1 else 'match'}"


def sentence(operation: Mapping[str, Any]) -> str:
    """`op_… working: 1,200 of 4,211 jobs cancelled`, or how it ended."""
    rule = VERBS.get(operation["verb"])
    done = rule.done if rule is not None else "done"
    shown = many(operation["done"])
    if operation["phase"] not in BULK_ENDED:
        shown = f"{operation['done']:,} of {count_of(operation)}"
    said = [f"{shown} {done}"]
    for name, words in (
        ("refused", "refused"),
        ("gone", "gone before it came to them"),
        ("held", "held by somebody, to be tried again"),
    ):
        if operation[name]:
            said.append(f"{operation[name]:,} {words}")
    reason = operation.get("reason")
    why = f" ({reason})" if reason and reason != operation["phase"] else ""
    return f"{operation['id']} {operation['phase']}: {', '.join(said)}{why}"


def tell_refused(operation: Mapping[str, Any]) -> None:
    for one in operation["left_jobs"]:
        say(f"{one['id']}: {one['reason']}")
    if (more := operation["refused"] - len(operation["left_jobs"])) > 0:
        say(f"and {more:,} more were refused")
