"""The draft of a workflow: what is being drawn. Nothing runs of it before it is published."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.types import ASGIApp

from windlass.api.http import shapes as schemas
from windlass.api.http.body import read_json, read_nothing
from windlass.api.http.caller import caller_of
from windlass.api.http.conditional import (
    ETAG,
    REVALIDATES,
    TAKES_BOTH,
    UNCHANGED,
    etag,
    precondition_of,
    unchanged,
)
from windlass.api.http.reply import empty_reply, json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.parts import ApiParts
from windlass.api.workflows.body import require_valid
from windlass.api.workflows.view import draft_view
from windlass.api.workflows.workflows import (
    ITS_NAME,
    PATH,
    TAG,
    check_name,
    name_of,
    published_answers,
    published_reply,
)
from windlass.engine.executions.workflows import (
    KeptDraft,
    discard_draft,
    publish,
    put_draft,
    read_draft,
)
from windlass.errors import InvalidInput
from windlass.limits import DRAFT_BYTES_MAX
from windlass.model.json import strict as strict_json


class Drafts:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database

    async def get(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        draft = await read_draft(self._database, name_of(request))
        return unchanged(request, draft.etag) or _shown(draft)

    async def put(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name, wanted = name_of(request), precondition_of(request)
        text = read_text_of(await read_json(request))
        return _shown(await put_draft(self._database, name, text, wanted))

    async def publish(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name = name_of(request)
        await read_nothing(request)
        draft = await read_draft(self._database, name)
        document = msgspec.json.decode(draft.text)
        check_name(document, name)
        caller = caller_of(request.scope)
        definition = await require_valid(self._parts, caller, document, len(draft.text))
        published = await publish(self._database, definition, caller.owner, draft=draft.text)
        return await published_reply(self._parts, name, published)

    async def discard(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name = name_of(request)
        await read_nothing(request)
        await discard_draft(self._database, name)
        return empty_reply()


def _shown(draft: KeptDraft) -> ASGIApp:
    return json_reply(draft_view(draft), 200, etag(draft.etag))


def read_text_of(draft: Any) -> str:
    """The draft as JSON. It may be full of mistakes, but must be an object that can be kept."""
    if not isinstance(draft, dict):
        raise InvalidInput.at("", "a draft is an object")
    try:
        text = strict_json.write(draft)
    except ValueError as trouble:
        raise InvalidInput.at("", str(trouble)) from None
    if len(text.encode()) > DRAFT_BYTES_MAX:
        raise InvalidInput.at("", f"takes more than {DRAFT_BYTES_MAX} bytes as JSON")
    return text


def routes(parts: ApiParts) -> list[Route]:
    drafts = Drafts(parts)
    path = f"{PATH}/draft"
    draft = schemas.ref("WorkflowDraft")
    shown = {200: Answer(description="The draft", schema=draft, headers=ETAG)}
    return [
        Route(
            method="GET",
            path=path,
            needs="workflows:read",
            confined_by="workflow",
            handle=drafts.get,
            summary="Read the draft of a workflow",
            tag=TAG,
            path_schemas=ITS_NAME,
            headers=REVALIDATES,
            answers={**shown, **UNCHANGED},
            problems=(400, 404),
        ),
        Route(
            method="PUT",
            path=path,
            needs="workflows:edit",
            confined_by="workflow",
            handle=drafts.put,
            summary="Keep a draft, mistakes and all",
            description="A workflow that is new has version 0 until its draft is published.",
            tag=TAG,
            path_schemas=ITS_NAME,
            headers=TAKES_BOTH,
            body=schemas.ANY_OBJECT,
            answers=shown,
            problems=(400, 412, 413, 415),
        ),
        Route(
            method="POST",
            path=f"{path}/publish",
            needs="workflows:edit",
            confined_by="workflow",
            handle=drafts.publish,
            summary="Publish the draft as a new version",
            tag=TAG,
            path_schemas=ITS_NAME,
            answers=published_answers(),
            problems=(404, 409),
        ),
        Route(
            method="POST",
            path=f"{path}/discard",
            needs="workflows:edit",
            confined_by="workflow",
            handle=drafts.discard,
            summary="Throw the draft away",
            tag=TAG,
            path_schemas=ITS_NAME,
            answers={204: Answer(description="It is gone")},
            problems=(404,),
        ),
    ]
