"""Operations on nodes: ask for a resize, pause, resume or drain, watch it, abort it.

Owns: the rows of `operation` up to their first phase; what follows is the node's
(engine.cluster.operation_steps).
Promises: one change of a node at a time, decided by a unique index; a change of the whole cluster
is asked of all living nodes or of none.
Never: waits for a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from windlass import ids
from windlass.engine.audit.record import Entry, ask_and_record, record
from windlass.engine.cluster.nodes import node_etag, read_node
from windlass.errors import Conflict, NotFound
from windlass.model.cluster.operation import (
    ENDED,
    Kind,
    OnTimeout,
    Operation,
    operation_from,
    would_drain,
)
from windlass.model.json.etag import UNCONDITIONAL, Precondition
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


class NodeBusy(Conflict):
    """It is in the middle of another change."""

    code = "node_busy"

    def __init__(self, node_id: UUID, other: UUID) -> None:
        self.node_id, self.other = ids.show("node", node_id), ids.show("operation", other)
        super().__init__(
            f"{self.node_id} is in the middle of {self.other}; wait for its end or abort it"
        )

    @property
    def facts(self) -> dict[str, str]:
        return {"node_id": self.node_id, "operation_id": self.other}


class NodeGone(Conflict):
    """It has left, is leaving, or its lease has lapsed."""

    code = "node_gone"

    def __init__(self, node_id: UUID, state: str) -> None:
        self.node_id, self.state = ids.show("node", node_id), state
        super().__init__(f"{self.node_id} is {state}; only an active node can be changed")


class NoNode(Conflict):
    """There is nobody to ask."""

    code = "no_node"

    def __init__(self) -> None:
        super().__init__("no node is active; start one, or wait until one has registered")


class NotAbortable(Conflict):
    """It has ended, or is of a sort that is not called back once it has begun."""

    code = "not_abortable"

    def __init__(self, operation: Operation) -> None:
        shown = ids.show("operation", operation.id)
        if operation.phase in ENDED:
            super().__init__(f"{shown} has ended as {operation.phase}")
        else:
            super().__init__(
                f"{shown} is a {operation.kind} that has begun, and is not called back; "
                "ask for the opposite when it is done"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRequest:
    """What is asked of a node."""

    kind: Kind
    drain_seconds: float
    to_workers: int | None = None  # None: not a resize
    on_timeout: OnTimeout = "hand_back"
    asked_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a resize would have to wait for, as far as can be said now."""

    node_id: UUID
    from_workers: int
    to_workers: int
    in_flight: int
    would_drain: int
    estimated_seconds: float | None  # None: nothing has ended there lately to judge by


async def ask(
    database: Database,
    node_id: UUID,
    wanted: OperationRequest,
    only_if: Precondition = UNCONDITIONAL,
) -> Operation:
    """Raises NotFound, PreconditionFailed, NodeGone, NodeBusy."""
    node = await read_node(database, node_id)
    [operation] = await _ask(database, [node], wanted, parent_id=None, only_if=only_if)
    return operation


async def ask_all(database: Database, wanted: OperationRequest) -> tuple[UUID, list[Operation]]:
    """The same of every active node, under an id for the whole.

    Raises NodeBusy, NodeGone, NoNode.
    """
    parent_id, nodes = ids.uuid7(), await _active(database)
    if not nodes:
        raise NoNode
    return parent_id, await _ask(database, nodes, wanted, parent_id=parent_id)


async def _active(database: Database) -> list[Record]:
    return [row for row in await database.run("node_list") if row["state"] == "active"]


async def _ask(
    database: Database,
    nodes: Sequence[Record],
    wanted: OperationRequest,
    *,
    parent_id: UUID | None,
    only_if: Precondition = UNCONDITIONAL,  # of a single node
) -> list[Operation]:
    node_ids = [node["id"] for node in nodes]

    async def work(connection: Connection[Record]) -> list[Operation]:
        if only_if.is_given:
            [held] = await connection.fetch(statement("node_hold"), *node_ids)
            only_if.check("node", ids.show("node", held["id"]), node_etag(held))
        rows = await connection.fetch(
            statement("operation_ask_many"),
            ids.uuid7_many(len(node_ids)),
            node_ids,
            wanted.kind,
            parent_id,
            wanted.to_workers,
            wanted.drain_seconds,
            wanted.on_timeout,
            wanted.asked_by,
        )
        if len(rows) < len(node_ids):
            # Raising undoes what was entered for the others.
            entered = {row["node_id"] for row in rows}
            missed = [node for node in nodes if node["id"] not in entered]
            raise await _refusal(connection, missed)
        entered_all = sorted((operation_from(row) for row in rows), key=lambda op: op.id)
        await record(connection, _entry(nodes, wanted, parent_id or entered_all[0].id, parent_id))
        return entered_all

    return await database.ask(work)


def _entry(
    nodes: Sequence[Record], wanted: OperationRequest, operation_id: UUID, parent_id: UUID | None
) -> Entry:
    """Of a change of the whole cluster: one, with the number of nodes."""
    after: dict[str, Any] = {"operation_id": ids.show("operation", operation_id)}
    if wanted.to_workers is not None:
        after["workers"] = wanted.to_workers
    if parent_id is not None:
        return Entry(action=f"cluster.{wanted.kind}", after=after, count=len(nodes))
    [node] = nodes
    before = {"workers": node["workers"]} if wanted.to_workers is not None else None
    shown = ids.show("node", node["id"])
    return Entry(
        action=f"node.{wanted.kind}", id=shown, name=node["name"], before=before, after=after
    )


async def _refusal(connection: Connection[Record], missed: Sequence[Record]) -> Conflict:
    found = await connection.fetch(
        statement("operation_open_many"), [node["id"] for node in missed]
    )
    if found:
        return NodeBusy(found[0]["node_id"], found[0]["id"])
    state = missed[0]["state"]
    return NodeGone(missed[0]["id"], "lost" if state == "active" else state)


async def estimate(
    database: Database,
    node_id: UUID,
    wanted: OperationRequest,
    only_if: Precondition = UNCONDITIONAL,
) -> Estimate:
    """What a resize of one node would wait for; nothing is asked. Raises as `ask` does."""
    node = await read_node(database, node_id)
    only_if.check("node", ids.show("node", node_id), node_etag(node))
    if node["state"] != "active":
        raise NodeGone(node_id, node["state"])
    [found] = await _estimates(database, [node_id], wanted)
    return found


async def estimate_all(database: Database, wanted: OperationRequest) -> list[Estimate]:
    return await _estimates(database, [row["id"] for row in await _active(database)], wanted)


async def _estimates(
    database: Database, node_ids: list[UUID], wanted: OperationRequest
) -> list[Estimate]:
    assert wanted.to_workers is not None
    rows = await database.read("operation_estimate", node_ids)
    return [_estimate(row, wanted.to_workers, wanted.drain_seconds) for row in rows]


def _estimate(row: Record, to_workers: int, drain_seconds: float) -> Estimate:
    waits_for = would_drain(row["workers"], row["in_flight"], to_workers)
    took = row["took_seconds"]
    seconds = None if took is None else min(round(took, 3), drain_seconds)
    return Estimate(
        node_id=row["id"],
        from_workers=row["workers"],
        to_workers=to_workers,
        in_flight=row["in_flight"],
        would_drain=waits_for,
        estimated_seconds=seconds if waits_for else 0.0,
    )


async def read_operations(database: Database, operation_id: UUID) -> list[Operation]:
    """An operation, or those of a change of the whole cluster. Raises NotFound."""
    # From the hot pool: whoever waits for an operation must not read an older state.
    rows = await database.run("operation_get", operation_id)
    if not rows:
        raise NotFound("operation", ids.show("operation", operation_id))
    return [operation_from(row) for row in rows]


async def list_operations(
    database: Database,
    limit: int,
    before: UUID | None = None,
    *,
    node_id: UUID | None = None,
    phases: Sequence[str] | None = None,  # None: in any
) -> list[Operation]:
    """Newest first."""
    rows = await database.read("operation_list", before, node_id, phases, limit)
    return [operation_from(row) for row in rows]


async def abort(database: Database, operation_id: UUID) -> list[Operation]:
    """Ask for it to be undone; of a whole cluster's, whatever has not ended.

    Raises NotFound, NotAbortable.
    """
    found = await read_operations(database, operation_id)
    entry = Entry(action="operation.abort", id=ids.show("operation", operation_id))
    asked = await ask_and_record(
        *(database, "operation_abort", [operation.id for operation in found]),
        entries=lambda _rows: [entry],
    )
    if not asked:
        raise NotAbortable((await read_operations(database, operation_id))[0])
    return await read_operations(database, operation_id)
