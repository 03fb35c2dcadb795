"""An execution as a tree of lines: its steps in order, fan-outs with a bar, children below theirs.

Pure: from what `…/graph` answered to lines of words. Who shows them decides on colours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from windlass.cli.show.job import error_text
from windlass.cli.show.moment import length, parse
from windlass.cli.show.output import compact, plain

INDENT: Final = "  "
BAR_CHARS: Final = 20
_MORE_CHARS_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A graph as the API answers it, and those of its children by their ids."""

    graph: Mapping[str, Any]
    children: Mapping[str, Tree] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLine:
    name: str  # with its indentation
    kind: str
    state: str
    took: str
    more: str

    @property
    def text(self) -> str:
        return INDENT.join((self.name, self.kind, self.state, self.took, self.more)).rstrip()


def lines(tree: Tree, now: datetime) -> list[TreeLine]:
    """The execution itself, then its steps; columns are as wide as their widest word."""
    found = list(_lines(tree, now, ""))
    names = max(len(line.name) for line in found)
    kinds = max(len(line.kind) for line in found)
    states = max(len(line.state) for line in found)
    lengths = max(len(line.took) for line in found)
    return [
        TreeLine(
            name=f"{line.name:<{names}}",
            kind=f"{line.kind:<{kinds}}",
            state=f"{line.state:<{states}}",
            took=f"{line.took:>{lengths}}",
            more=line.more,
        )
        for line in found
    ]


def _lines(tree: Tree, now: datetime, indent: str) -> Iterator[TreeLine]:
    graph = tree.graph
    called = f"{graph['workflow']} {graph['version']}"
    yield TreeLine(
        name=indent + graph["execution_id"],
        kind=plain(called),
        state=graph["state"],
        took="",
        more="",
    )
    for step in graph["steps"]:
        yield TreeLine(
            name=indent + INDENT + plain(step["id"]),
            kind=plain(step["kind"]),
            state=step["state"],
            took=_took(step, now),
            more=plain(_more(step)),
        )
        child = tree.children.get(step.get("child_id") or "")
        if child is not None:
            yield from _lines(child, now, indent + 2 * INDENT)


def _took(step: Mapping[str, Any], now: datetime) -> str:
    started = parse(step.get("started_at"))
    if started is None:
        return ""
    ended = parse(step.get("finished_at")) or now
    return length(max(0.0, (ended - started).total_seconds()))


def _more(step: Mapping[str, Any]) -> str:
    """What is worth a look: how far a fan-out is, another try, what went wrong, what came of it."""
    told = []
    if step.get("counts"):
        told.append(bar(step["counts"]))
    if step.get("attempt", 0) > 1:
        told.append(f"attempt {step['attempt']}")
    if step.get("error"):
        told.append(error_text(step["error"]))
    elif step["state"] == "succeeded" and not step.get("counts"):
        told.append(_output(step))
    elif step.get("title"):
        told.append(step["title"])
    text = ", ".join(part for part in told if part)
    return text if len(text) <= _MORE_CHARS_MAX else text[: _MORE_CHARS_MAX - 1] + "…"


def _output(step: Mapping[str, Any]) -> str:
    output = step.get("output")
    return step.get("output_excerpt") or ("" if output is None else compact(output))


def bar(counts: Mapping[str, int]) -> str:
    """`[######------] 5 of 10, 1 failed`."""
    total, ended = counts["total"], counts["succeeded"] + counts["failed"]
    filled = BAR_CHARS if not total else BAR_CHARS * ended // total
    failed = f", {counts['failed']} failed" if counts["failed"] else ""
    return f"[{'#' * filled}{'-' * (BAR_CHARS - filled)}] {ended} of {total}{failed}"
