"""/v1/tasks: the Python functions that nodes have: what each takes, who has it, what waits."""

from __future__ import annotations

from typing import Any, Final

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http.paging import page_of_whole, whole_params
from windlass.api.http.query import id_schema
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import (
    ANY_OBJECT,
    COUNT,
    INSTANT,
    TEXT,
    Named,
    listed,
    nullable,
    page_of,
    record,
    ref,
)
from windlass.api.parts import ApiParts
from windlass.engine.jobs.tasks import list_tasks, read_task
from windlass.limits import KEY_CHARS_MAX
from windlass.model.json.strict import read_stored
from windlass.store.database import Record

# Of its description, as strategies/plugins/description.py writes it.
_DESCRIBED: Final = (
    "doc",
    "is_async",
    "is_isolated",
    "parameters",
    "positional",
    "result",
    "options",
)


def task_view(row: Record) -> dict[str, Any]:
    described = read_stored(row["description"]) if row["description"] else {}
    return {
        "name": row["name"],
        "app": row["app"],
        **{name: described.get(name) for name in _DESCRIBED},
        "nodes": [ids.show("node", node_id) for node_id in row["nodes"]],
        "node_count": row["node_count"],
        "queued": row["queued"],
        "running": row["running"],
        "dead": row["dead"],
        "described_at": row["described_at"],
    }


def routes(parts: ApiParts) -> list[Route]:
    async def index(_request: Call, query: dict[str, Any]) -> ASGIApp:
        rows = await list_tasks(parts.database)
        return page_of_whole([task_view(row) for row in rows], query)

    async def get(request: Call, _query: dict[str, Any]) -> ASGIApp:
        row = await read_task(parts.database, request.path_params["name"])
        return json_reply(task_view(row))

    name = {"type": "string", "minLength": 1, "maxLength": KEY_CHARS_MAX}
    return [
        Route(
            method="GET",
            path="/v1/tasks",
            needs="jobs:read",
            handle=index,
            summary="List tasks by name",
            tag="Tasks",
            query=whole_params(),
            answers={200: Answer(description="The tasks", schema=page_of("Task"))},
        ),
        Route(
            method="GET",
            path="/v1/tasks/{name:str}",
            needs="jobs:read",
            handle=get,
            summary="Read a task",
            tag="Tasks",
            path_schemas={"name": name},
            answers={200: Answer(description="The task", schema=ref("Task"))},
            problems=(404,),
        ),
    ]


_FLAG: Final = nullable({"type": "boolean"})
SCHEMAS: Final[Named] = {
    "Task": record(
        name=TEXT,
        app=nullable(TEXT),
        doc=nullable(TEXT),
        is_async=_FLAG,
        is_isolated=_FLAG,
        parameters=nullable(ANY_OBJECT),
        positional=nullable(listed(TEXT)),
        result=nullable(ANY_OBJECT),
        options=nullable(ANY_OBJECT),
        nodes=listed(id_schema("node")),
        node_count=COUNT,
        queued=COUNT,
        running=COUNT,
        dead=COUNT,
        described_at=nullable(INSTANT),
    )
}
