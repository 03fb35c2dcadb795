"""Workflows, their versions and differences at a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from windlass.cli.show.output import compact, show_line
from windlass.cli.show.table import Column, columns, instant, prose, spare

_VALUE_CHARS_MAX: Final = 120


def _step_count(workflow: Mapping[str, Any]) -> Any:
    return len((workflow.get("definition") or {}).get("steps", []))


def _short_hash(workflow: Mapping[str, Any]) -> Any:
    return (workflow.get("hash") or "")[:12]


ROW: Final = (
    *columns("name", "version"),
    *spare(Column(title="hash", take=_short_hash)),
    instant("published", lambda workflow: workflow.get("published_at")),
    *spare("published_by", "has_draft"),
    prose("description"),
)
PAGE: Final = (
    *columns("name", "version", "hash", "description"),
    Column(title="steps", take=_step_count),
    *columns("published_by", "published_at", "created_at", "changed_at", "has_draft"),
)
VERSION: Final = (
    *columns("version"),
    Column(title="hash", take=_short_hash),
    *columns("created_at", "published_by"),
)


def show_diff(found: Mapping[str, Any], before: str, after: str) -> None:
    """What changed, a line each: + added, - removed, ~ changed."""
    if found["is_same"]:
        show_line(f"{before} and {after} are the same")
        return
    show_line(f"{before} -> {after}")
    for change in found["fields"]:
        show_line(f"~ {_told(change)}")
    for step in found["removed"]:
        show_line(f"- step {step['id']} ({step['kind']})")
    for step in found["added"]:
        show_line(f"+ step {step['id']} ({step['kind']})")
    for step in found["changed"]:
        for change in step["fields"]:
            show_line(f"~ step {step['id']}: {_told(change)}")
    if found["is_reordered"]:
        show_line("~ the steps stand in another order")


def _told(change: Mapping[str, Any]) -> str:
    return f"{change['field']}: {_short(change['from'])} -> {_short(change['to'])}"


def _short(value: Any) -> str:
    text = "nothing" if value is None else compact(value)
    return text if len(text) <= _VALUE_CHARS_MAX else text[: _VALUE_CHARS_MAX - 1] + "…"
