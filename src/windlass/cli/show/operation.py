"""Operations for people: rows, pages, and a line that says how far one is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from windlass.cli.exits import Exit
from windlass.cli.http.client import Answer
from windlass.cli.http.listing import show_one
from windlass.cli.options import Reading
from windlass.cli.show import bulk
from windlass.cli.show.table import Column, columns, prose, show_table, spare
from windlass.model.cluster.operation import ENDED


def _progress(name: str) -> Column:
    take = name.replace(" ", "_")
    return Column(title=name, take=lambda op: (op.get("progress") or {}).get(take))


def _size(operation: Mapping[str, Any]) -> str | None:
    if operation.get("to_workers") is None:
        return None
    return f"{operation.get('from_workers')} > {operation['to_workers']}"


ROW: Final = (
    *columns("id", "kind", "phase", "node_id"),
    Column(title="workers", take=_size),
    *spare("created_at", _progress("in flight")),
    prose("reason"),
)
PAGE: Final = (
    *columns("id", "kind", "phase", "node_id", "parent_id", "from_workers", "to_workers"),
    _progress("in flight"),
    _progress("handed back"),
    *columns("drain_seconds", "on_timeout", "reason", "created_at", "changed_at", "ended_at"),
    Column(title="nodes", take=lambda op: len(op["operations"]) if "operations" in op else None),
)


def show_operation(reading: Reading, answer: Answer) -> None:
    """One; of a change of the whole cluster, what each node makes of it as well."""
    if is_bulk(answer.value):
        show_one(reading, answer, bulk.PAGE)
        return
    show_one(reading, answer, PAGE)
    if reading.output == "table" and "operations" in answer.value:
        show_table(ROW, answer.value["operations"], none="no node was asked")


def sentence(operation: Mapping[str, Any]) -> str:
    """`op_… draining, 3 in flight`, or how it ended."""
    if is_bulk(operation):
        return bulk.sentence(operation)
    said = [f"{operation['id']} {operation['phase']}"]
    nodes = operation.get("operations")
    if nodes is not None:
        said.append(f"{sum(part['phase'] in ENDED for part in nodes)} of {len(nodes)} nodes ended")
    if operation["phase"] not in ENDED:
        in_flight = (operation.get("progress") or {}).get("in_flight")
        if in_flight is not None:
            said.append(f"{in_flight} in flight")
        if any(part.get("is_abort_asked") for part in parts(operation)):
            said.append("asked to go back")
    reason = operation.get("reason")
    return ", ".join(said) + (f": {reason}" if reason else "")


def exit_of(operation: Mapping[str, Any]) -> Exit:
    """As the contract has it: who calls an operation back has cancelled it."""
    if is_bulk(operation):
        is_whole = operation["phase"] == "done" and not operation["refused"]
        is_aborted = operation["phase"] == "aborted"
        return Exit.CANCELLED if is_aborted else Exit.OK if is_whole else Exit.FAILED
    undone = [part for part in parts(operation) if part["phase"] == "rolled_back"]
    if not undone:
        return Exit.OK
    is_abort = all(part.get("is_abort_asked") for part in undone)
    return Exit.CANCELLED if is_abort else Exit.FAILED


def is_bulk(operation: Mapping[str, Any]) -> bool:
    """Is it a verb on many jobs, and no change of a node?"""
    return operation.get("kind") == "bulk"


def parts(operation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The operation of each node; one that concerns a single node is its own part."""
    found: list[Mapping[str, Any]] = operation.get("operations", [operation])
    return found
