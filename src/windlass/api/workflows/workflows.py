"""/v1/workflows: publish, read, delete, validate. Versions and drafts have files of their own."""

from __future__ import annotations

from typing import Any, Final

from starlette.types import ASGIApp

from windlass.api.http import shapes as schemas
from windlass.api.http.body import read_nothing
from windlass.api.http.caller import caller_of
from windlass.api.http.conditional import ETAG, TAKES_BOTH, etag, precondition_of
from windlass.api.http.idempotency import HEADER, KEY_SCHEMA, REPLAYED
from windlass.api.http.paging import WORKFLOWS, page_reply
from windlass.api.http.query import limit_param
from windlass.api.http.reply import (
    JSON,
    LOCATION,
    Reply,
    created_reply,
    empty_reply,
    encode,
    json_reply,
)
from windlass.api.http.route import Answer, Call, Route
from windlass.api.parts import ApiParts
from windlass.api.workflows.body import SentDefinition, check, read_sent_definition, require_valid
from windlass.api.workflows.view import step_inputs, summary_view, workflow_view
from windlass.engine.executions.workflows import (
    Published,
    delete_workflow,
    list_workflows,
    publish,
    read_workflow,
)
from windlass.errors import InvalidInput
from windlass.limits import PAGE_DEFAULT
from windlass.model.job.submission import read_name
from windlass.model.json.etag import UNCONDITIONAL, Precondition
from windlass.model.json.value_schema import NAME_SCHEMA
from windlass.model.workflow.schema import published_schema

TAG: Final = "Workflows"
PATH: Final = "/v1/workflows/{name:str}"
ITS_NAME: Final = {"name": NAME_SCHEMA}
_SAME: Final = (
    "A definition is JSON, or YAML with `Content-Type: application/yaml`. One that is the same as "
    "the newest version, its layout apart, is answered with that version."
)


class Workflows:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database

    async def index(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.get("limit", PAGE_DEFAULT)
        found = await list_workflows(self._database, limit, query.get("cursor", ""))
        cursor = WORKFLOWS.show(found[-1].name) if len(found) == limit else None
        return page_reply([summary_view(workflow) for workflow in found], cursor)

    async def get(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        found = await read_workflow(self._database, name_of(request))
        return json_reply(workflow_view(found), 200, etag(found.etag))

    async def post(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        return await self._publish(request, await read_sent_definition(request))

    async def put(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name, wanted = name_of(request), precondition_of(request)
        sent = await read_sent_definition(request)
        check_name(sent.document, name)
        return await self._publish(request, sent, wanted)

    async def delete(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name = name_of(request)
        await read_nothing(request)
        await delete_workflow(self._database, name)
        self._parts.announcer.happened()
        return empty_reply()

    async def validate(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        sent = await read_sent_definition(request)
        found = await check(self._parts, sent.document, sent.size)
        problems = found if isinstance(found, list) else []
        errors = [{"pointer": p.pointer, "detail": p.detail} for p in problems]
        return json_reply({"valid": not errors, "errors": errors})

    async def schema(self, _request: Call, _query: dict[str, Any]) -> ASGIApp:
        # Made anew: kinds come and go while the node runs.
        return Reply(encode(published_schema(step_inputs(self._parts.kinds))), 200, (JSON,))

    async def _publish(
        self, request: Call, sent: SentDefinition, wanted: Precondition = UNCONDITIONAL
    ) -> ASGIApp:
        caller = caller_of(request.scope)
        definition = await require_valid(self._parts, caller, sent.document, sent.size)
        published = await publish(
            self._database, definition, caller.owner, idempotency=sent.idempotency, wanted=wanted
        )
        return await published_reply(self._parts, definition.name, published)


async def published_reply(parts: ApiParts, name: str, published: Published) -> ASGIApp:
    """The answer to a publication."""
    if published.is_new:
        parts.announcer.happened()
    found = await read_workflow(parts.database, name, published.version)
    headers = [etag(found.etag), *([REPLAYED] if published.is_replayed else [])]
    if published.is_new:
        where = f"/v1/workflows/{name}/versions/{published.version}"
        return created_reply(workflow_view(found), where, *headers)
    return json_reply(workflow_view(found), 200, *headers)


def name_of(request: Call) -> str:
    try:
        return read_name(request.path_params["name"])
    except ValueError as trouble:
        raise InvalidInput.at("{name}", str(trouble)) from None


def check_name(document: Any, name: str) -> None:
    """What the path says need not be said again, but must not be contradicted."""
    if isinstance(document, dict) and document.setdefault("name", name) != name:
        raise InvalidInput.at("/name", f"is another name than that of the path, {name}")


def published_answers() -> dict[int, Answer]:
    shown = schemas.ref("Workflow")
    return {
        200: Answer(
            description="The newest version is the same, or the key was answered before",
            schema=shown,
            headers={**ETAG, "Idempotent-Replayed": "true: this key was answered before"},
        ),
        201: Answer(
            description="Published as a new version", schema=shown, headers={**LOCATION, **ETAG}
        ),
    }


def routes(parts: ApiParts) -> list[Route]:
    workflows = Workflows(parts)
    key = {HEADER: ("Makes a repetition harmless", KEY_SCHEMA)}
    shown = {200: Answer(description="The workflow", schema=schemas.ref("Workflow"), headers=ETAG)}
    return [
        Route(
            method="GET",
            path="/v1/workflows",
            needs="workflows:read",
            handle=workflows.index,
            summary="List workflows by name, without their definitions",
            tag=TAG,
            query=(limit_param(), WORKFLOWS.param()),
            answers={
                200: Answer(
                    description="A page of workflows", schema=schemas.page_of("WorkflowSummary")
                )
            },
        ),
        Route(
            method="POST",
            path="/v1/workflows",
            needs="workflows:edit",
            handle=workflows.post,
            summary="Publish a definition",
            description=_SAME,
            tag=TAG,
            headers=key,
            body=schemas.ref("Definition"),
            answers=published_answers(),
            problems=(400, 404, 413, 415),
        ),
        Route(
            method="POST",
            path="/v1/workflows/validate",
            needs="workflows:read",
            handle=workflows.validate,
            summary="Check a definition without publishing it",
            description="Every problem is told with a JSON pointer. JSON or YAML.",
            tag=TAG,
            body={},
            answers={200: Answer(description="The verdict", schema=schemas.ref("Verdict"))},
            problems=(400, 413, 415),
        ),
        Route(
            method="GET",
            path=PATH,
            needs="workflows:read",
            confined_by="workflow",
            handle=workflows.get,
            summary="Read a workflow with its newest definition",
            tag=TAG,
            path_schemas=ITS_NAME,
            answers=shown,
            problems=(404,),
        ),
        Route(
            method="PUT",
            path=PATH,
            needs="workflows:edit",
            confined_by="workflow",
            handle=workflows.put,
            summary="Publish a definition under this name",
            description=_SAME,
            tag=TAG,
            path_schemas=ITS_NAME,
            headers=TAKES_BOTH,
            body=schemas.ref("DefinitionPut"),
            answers=published_answers(),
            problems=(400, 412, 413, 415),
        ),
        Route(
            method="DELETE",
            path=PATH,
            needs="workflows:edit",
            confined_by="workflow",
            handle=workflows.delete,
            summary="Take no new executions of a workflow",
            description="Those that run go on, and its versions can be read. Publishing it again "
            "brings it back.",
            tag=TAG,
            path_schemas=ITS_NAME,
            answers={204: Answer(description="It is deleted")},
            problems=(404,),
        ),
        Route(
            method="GET",
            path="/schemas/workflow.json",
            needs="workflows:read",
            handle=workflows.schema,
            summary="Read the JSON Schema of a definition",
            tag=TAG,
            answers={200: Answer(description="JSON Schema", schema=schemas.ANY_OBJECT)},
        ),
    ]
