"""Changing nodes while they work: resize, pause, resume, drain; and how far each change is.

A change is accepted at once (202) and carried out by the node itself; nothing here waits for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.cluster.operation_view import cluster_view, estimate_view, operation_view
from windlass.api.cluster.resize_body import read_drain_seconds, read_resize, resize_schema
from windlass.api.http import shapes as schemas
from windlass.api.http.body import read_nothing
from windlass.api.http.caller import caller_of
from windlass.api.http.conditional import TAKES, precondition_of
from windlass.api.http.paging import OPERATIONS, page_reply
from windlass.api.http.query import choices_param, id_param, id_schema, limit_param
from windlass.api.http.reply import Reply, json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.jobs.bulk import bulk_view
from windlass.api.parts import ApiParts
from windlass.engine.cluster import operations as engine
from windlass.engine.cluster.operations import OperationRequest
from windlass.engine.jobs.bulk import abort_bulk, find_bulk
from windlass.errors import InvalidInput, Unavailable
from windlass.limits import PAGE_DEFAULT
from windlass.model.cluster.operation import PHASES, Kind, Operation
from windlass.model.json.etag import UNCONDITIONAL, Precondition


class Operations:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database
        self._drain_seconds = float(parts.settings.drain_timeout_seconds)

    async def resize(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        node_id, only_if = _id(request, "node"), precondition_of(request)
        asked = await read_resize(request, self._drain_seconds)
        if asked.is_dry_run:
            found = await engine.estimate(self._database, node_id, asked.wanted, only_if)
            return json_reply(estimate_view(found))
        return await self._ask(node_id, asked.wanted, only_if)

    async def resize_all(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        asked = await read_resize(request, self._drain_seconds)
        if asked.is_dry_run:
            estimates = await engine.estimate_all(self._database, asked.wanted)
            return json_reply({"estimates": [estimate_view(found) for found in estimates]})
        parent_id, operations = await engine.ask_all(self._database, asked.wanted)
        await self._tell(operations)
        return json_reply(cluster_view(parent_id, operations), 202)

    async def pause(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        return await self._ask_without_words(request, "pause")

    async def resume(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        return await self._ask_without_words(request, "resume")

    async def drain(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        node_id = _id(request, "node")
        seconds = await read_drain_seconds(request, self._drain_seconds)
        return await self._ask(node_id, self._wanted(request, "drain", seconds))

    async def index(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.get("limit", PAGE_DEFAULT)
        found = await engine.list_operations(
            self._database,
            limit,
            query.get("cursor"),
            node_id=query.get("node_id"),
            phases=query.get("phase"),
        )
        cursor = OPERATIONS.show(found[-1].id.hex) if len(found) == limit else None
        return page_reply([operation_view(operation) for operation in found], cursor)

    async def get(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        operation_id = _id(request, "operation")
        if (bulk := await find_bulk(self._database, operation_id)) is not None:
            return json_reply(bulk_view(bulk))
        return _shown(operation_id, await engine.read_operations(self._database, operation_id))

    async def abort(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        operation_id = _id(request, "operation")
        await read_nothing(request)
        if await find_bulk(self._database, operation_id) is not None:
            return json_reply(bulk_view(await abort_bulk(self._database, operation_id)))
        operations = await engine.abort(self._database, operation_id)
        await self._tell(operations)
        return _shown(operation_id, operations)

    # -- asking ----------------------------------------------------------------------------------

    async def _ask_without_words(self, request: Call, kind: Kind) -> ASGIApp:
        node_id = _id(request, "node")
        await read_nothing(request)
        return await self._ask(node_id, self._wanted(request, kind, self._drain_seconds))

    def _wanted(self, request: Call, kind: Kind, drain_seconds: float) -> OperationRequest:
        asked_by = caller_of(request.scope).owner
        return OperationRequest(kind=kind, drain_seconds=drain_seconds, asked_by=asked_by)

    async def _ask(
        self, node_id: UUID, wanted: OperationRequest, only_if: Precondition = UNCONDITIONAL
    ) -> ASGIApp:
        operation = await engine.ask(self._database, node_id, wanted, only_if)
        await self._tell([operation])
        return json_reply(operation_view(operation), 202)

    async def _tell(self, operations: Sequence[Operation]) -> None:
        """Wake the nodes, and wait for none of them: one that is not reached looks by itself."""
        node_ids = [operation.node_id for operation in operations if operation.ended_at is None]
        self._parts.announcer.happened()
        if node_ids:
            with contextlib.suppress(Unavailable):
                await self._parts.signaller.signal(node_ids, "operation", {}, wait_seconds=0)


def _id(request: Call, noun: str) -> UUID:
    name = f"{noun}_id"
    try:
        return ids.parse(noun, request.path_params[name])
    except ValueError as trouble:
        raise InvalidInput.at(f"{{{name}}}", str(trouble)) from None


def _shown(operation_id: UUID, operations: Sequence[Operation]) -> Reply:
    if operations[0].id == operation_id:
        return json_reply(operation_view(operations[0]))
    return json_reply(cluster_view(operation_id, operations))


def routes(parts: ApiParts) -> list[Route]:
    operations = Operations(parts)
    node, operation = {"node_id": id_schema("node")}, {"operation_id": id_schema("operation")}
    one_node, one = "/v1/nodes/{node_id:str}", "/v1/operations/{operation_id:str}"
    accepted = {202: Answer(description="It is asked for", schema=schemas.ref("Operation"))}
    estimates = schemas.record(estimates=schemas.listed(schemas.ref("Estimate")))
    kinds = ("Operation", "ClusterOperation", "BulkOperation")
    either = {"anyOf": [schemas.ref(kind) for kind in kinds]}
    shown = {200: Answer(description="The operation", schema=either)}
    return [
        Route(
            method="PATCH",
            path=one_node,
            needs="cluster:control",
            handle=operations.resize,
            summary="Change how many slots a node has",
            tag="Nodes",
            path_schemas=node,
            headers=TAKES,
            body=resize_schema(),
            answers={
                200: Answer(description="A dry run", schema=schemas.ref("Estimate")),
                **accepted,
            },
            problems=(400, 404, 409, 412, 413, 415),
        ),
        Route(
            method="PATCH",
            path="/v1/cluster",
            needs="cluster:control",
            handle=operations.resize_all,
            summary="Change how many slots every active node has",
            tag="Nodes",
            body=resize_schema(),
            answers={
                200: Answer(description="A dry run", schema=estimates),
                202: Answer(description="It is asked for", schema=schemas.ref("ClusterOperation")),
            },
            problems=(400, 409, 413, 415),
        ),
        *(
            Route(
                method="POST",
                path=f"{one_node}/{verb}",
                needs="cluster:control",
                handle=handle,
                summary=summary,
                tag="Nodes",
                path_schemas=node,
                answers=accepted,
                problems=(404, 409),
            )
            for verb, handle, summary in (
                ("pause", operations.pause, "Let a node start nothing more; what runs goes on"),
                ("resume", operations.resume, "Let a paused node go on"),
                ("drain", operations.drain, "Let a node finish its work and leave"),
            )
        ),
        Route(
            method="GET",
            path="/v1/operations",
            needs="cluster:read",
            handle=operations.index,
            summary="List changes of nodes, newest first",
            tag="Nodes",
            query=(
                limit_param(),
                OPERATIONS.param(),
                id_param("node_id", "node", "Changes of this node"),
                choices_param("phase", PHASES, "Changes in any of these phases"),
            ),
            answers={
                200: Answer(description="A page", schema=schemas.page_of("Operation")),
            },
        ),
        Route(
            method="GET",
            path=one,
            needs="cluster:read",
            handle=operations.get,
            summary="Read a change of a node, of the whole cluster, or of many jobs",
            tag="Nodes",
            path_schemas=operation,
            answers=shown,
            problems=(404,),
        ),
        Route(
            method="POST",
            path=f"{one}/abort",
            needs="cluster:control",
            handle=operations.abort,
            summary="Call a change back: a node returns to its old size, no more jobs are touched",
            tag="Nodes",
            path_schemas=operation,
            answers=shown,
            problems=(404, 409),
        ),
    ]
