"""/v1/executions: list, read, wait for; their jobs, events, graph, and why they have not ended."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.executions.view import execution_view, graph_view, why_view
from windlass.api.http import shapes as schemas
from windlass.api.http.paging import EVENTS, EXECUTION_JOBS, EXECUTIONS, event_cursor, page_reply
from windlass.api.http.query import (
    Param,
    choices_param,
    created_params,
    finished_params,
    id_schema,
    limit_param,
    name_param,
    tag_param,
    text_param,
    wait_param,
)
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.jobs.history import event_view
from windlass.api.jobs.view import job_view
from windlass.api.parts import ApiParts
from windlass.engine.executions.graph import read_graph
from windlass.engine.executions.read import (
    STATES,
    ExecutionFilter,
    list_executions,
    list_jobs_of,
    position_of,
    read_execution,
)
from windlass.engine.executions.why import explain_execution
from windlass.engine.jobs.history import read_events_of_execution
from windlass.errors import InvalidInput
from windlass.limits import PAGE_DEFAULT
from windlass.model.workflow.execution import ENDED

TAG: Final = "Executions"
PATH: Final = "/v1/executions/{execution_id:str}"
ITS_ID: Final = {"execution_id": id_schema("execution")}


def execution_id_of(request: Call) -> UUID:
    """The id in the path. Raises InvalidInput for what is no execution's."""
    try:
        return ids.parse("execution", request.path_params["execution_id"])
    except ValueError as trouble:
        raise InvalidInput.at("{execution_id}", str(trouble)) from None


class Executions:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database

    async def index(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.pop("limit", PAGE_DEFAULT)
        before = query.pop("cursor", None)
        which = ExecutionFilter(states=query.pop("state", ()), **query)
        rows = await list_executions(self._database, which, limit, before)
        cursor = EXECUTIONS.show(rows[-1]["id"].hex) if len(rows) == limit else None
        return page_reply([execution_view(row) for row in rows], cursor)

    async def get(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        execution_id = execution_id_of(request)
        row = await read_execution(self._database, execution_id)
        if "wait" in query and row["state"] not in ENDED:
            await self._parts.waiters.ended(execution_id, query["wait"])
            row = await read_execution(self._database, execution_id)
        return json_reply(execution_view(row))

    async def jobs(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        execution = await read_execution(self._database, execution_id_of(request))
        limit = query.get("limit", PAGE_DEFAULT)
        rows = await list_jobs_of(self._database, execution, limit, query.get("cursor"))
        cursor = None
        if len(rows) == limit:
            last = position_of(rows[-1])
            cursor = EXECUTION_JOBS.show(f"{last.job_id.hex}{last.item:08x}{last.step}")
        return page_reply([job_view(row) for row in rows], cursor)

    async def events(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        execution = await read_execution(self._database, execution_id_of(request))
        limit = query.get("limit", PAGE_DEFAULT)
        found = await read_events_of_execution(
            self._database, execution, query.get("cursor"), limit
        )
        cursor = event_cursor(found[-1].sort_key) if len(found) == limit else None
        return page_reply([event_view(event) for event in found], cursor)

    async def graph(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        execution = await read_execution(self._database, execution_id_of(request))
        return json_reply(graph_view(execution, await read_graph(self._database, execution)))

    async def why(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        execution_id = execution_id_of(request)
        why = await explain_execution(
            self._database, execution_id, self._parts.settings.execution_tree_max
        )
        return json_reply(why_view(execution_id, why))


def routes(parts: ApiParts) -> list[Route]:
    executions = Executions(parts)
    shown = Answer(description="The execution", schema=schemas.ref("Execution"))
    listed = Route(
        method="GET",
        path="/v1/executions",
        needs="executions:read",
        handle=executions.index,
        summary="List executions, newest first",
        tag=TAG,
        query=(
            name_param("workflow", "Executions of this workflow"),
            choices_param("state", STATES, "Executions in one of these states"),
            tag_param("Executions"),
            text_param("correlation_id", "Executions with this correlation id"),
            *created_params("Executions"),
            *finished_params("Executions"),
            limit_param(),
            EXECUTIONS.param(),
        ),
        answers={
            200: Answer(description="A page of executions", schema=schemas.page_of("Execution"))
        },
    )
    read = Route(
        method="GET",
        path=PATH,
        needs="executions:read",
        confined_by="execution",
        handle=executions.get,
        summary="Read an execution",
        tag=TAG,
        description="With `wait` the answer comes as soon as it has ended, or as it is then. "
        "`counts` are of its jobs, as of `refreshed_at`.",
        query=(wait_param("execution"),),
        path_schemas=ITS_ID,
        answers={200: shown},
        problems=(404,),
    )
    parts_of_it: tuple[tuple[str, Any, str, schemas.Schema, tuple[Param, ...]], ...] = (
        (
            "jobs",
            executions.jobs,
            "List the jobs of an execution by step; a fan-out's items stand before its own job",
            schemas.page_of("Job"),
            (limit_param(), EXECUTION_JOBS.param()),
        ),
        (
            "events",
            executions.events,
            "List what happened to an execution and its jobs, oldest first",
            schemas.page_of("Event"),
            (limit_param(), EVENTS.param()),
        ),
        (
            "graph",
            executions.graph,
            "Read the steps of an execution, how far each is, and what leads to it",
            schemas.ref("ExecutionGraph"),
            (),
        ),
        (
            "why",
            executions.why,
            "Ask why an execution has not ended",
            schemas.ref("WhyExecution"),
            (),
        ),
    )
    return [
        listed,
        read,
        *(
            Route(
                method="GET",
                path=f"{PATH}/{word}",
                needs="executions:read",
                confined_by="execution",
                handle=handle,
                summary=summary,
                tag=TAG,
                query=query,
                path_schemas=ITS_ID,
                answers={200: Answer(description=summary, schema=schema)},
                problems=(404,),
            )
            for word, handle, summary, schema, query in parts_of_it
        ),
    ]
