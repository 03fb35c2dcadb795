"""The versions of a workflow: list, read, compare, take away as a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec
from starlette.types import ASGIApp

from windlass.api.http import shapes as schemas
from windlass.api.http.paging import VERSIONS, page_reply
from windlass.api.http.query import Param, limit_param
from windlass.api.http.reply import Reply, json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.parts import ApiParts
from windlass.api.workflows.view import diff_view, version_summary, version_view
from windlass.api.workflows.workflows import ITS_NAME, PATH, TAG, name_of
from windlass.engine.executions.workflows import VERSION_MAX, list_versions
from windlass.errors import InvalidInput
from windlass.limits import DEFINITION_HERE_BYTES_MAX, PAGE_DEFAULT
from windlass.model.json import yaml as strict_yaml
from windlass.model.workflow.diff import Difference, difference
from windlass.model.workflow.mermaid import to_mermaid
from windlass.model.workflow.read import trust_definition

R = TypeVar("R")
VERSION_SCHEMA: Final[dict[str, Any]] = {
    "type": "integer",
    "minimum": 1,
    "maximum": VERSION_MAX,
}


class Versions:
    def __init__(self, parts: ApiParts) -> None:
        self._database = parts.database
        self._definitions = parts.definitions

    async def index(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.get("limit", PAGE_DEFAULT)
        before = query.get("cursor", VERSION_MAX)
        found = await list_versions(self._database, name_of(request), limit, before)
        cursor = VERSIONS.show(str(found[-1].version)) if len(found) == limit else None
        return page_reply([version_summary(version) for version in found], cursor)

    async def get(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        name = name_of(request)
        try:
            number = read_number(request.path_params["version"])
        except ValueError as trouble:
            raise InvalidInput.at("{version}", str(trouble)) from None
        return json_reply(version_view(await self._definitions.read(name, number)))

    async def diff(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        """Between two versions; unless said, the newest and the one before."""
        name = name_of(request)
        after = await self._definitions.read(name, query.get("to"))
        number = query.get("from", max(1, after.version - 1))
        before = await self._definitions.read(name, number)
        found = await _aside(_difference, before.definition, after.definition)
        return json_reply(diff_view(before.version, after.version, found))

    async def export(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        found = await self._definitions.read(name_of(request), query.get("version"))
        write, media_type = FORMATS[query.get("format", "yaml")]
        text = await _aside(lambda text: write(_document(text)), found.definition)
        return Reply(text.encode(), 200, ((b"content-type", media_type.encode()),))


async def _aside(work: Callable[..., R], *definitions: str | None) -> R:
    """What is done with definitions, in a thread if they are large."""
    if sum(len(text or "") for text in definitions) <= DEFINITION_HERE_BYTES_MAX:
        return work(*definitions)
    return await asyncio.to_thread(work, *definitions)


def _difference(before: str | None, after: str | None) -> Difference:
    return difference(_document(before), _document(after))


def _document(text: str | None) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(text or "{}")
    return found


def _as_json(document: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _as_mermaid(document: dict[str, Any]) -> str:
    return to_mermaid(trust_definition(document))


# How a definition is written, and as what it is sent.
FORMATS: Final[dict[str, tuple[Callable[[dict[str, Any]], str], str]]] = {
    "yaml": (strict_yaml.write, "application/yaml"),
    "json": (_as_json, "application/json"),
    "mermaid": (_as_mermaid, "text/vnd.mermaid"),
}


def read_number(text: str) -> int:
    """The number of a version."""
    if text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= VERSION_MAX:
        return int(text)
    raise ValueError(f"must be the number of a version, from 1 to {VERSION_MAX}")


def _number_param(name: str, description: str) -> Param:
    return Param(name=name, read=read_number, description=description, schema=VERSION_SCHEMA)


def _read_format(text: str) -> str:
    if text not in FORMATS:
        raise ValueError(f"must be one of: {' '.join(FORMATS)}")
    return text


def routes(parts: ApiParts) -> list[Route]:
    versions = Versions(parts)
    exported = Param(
        name="format",
        read=_read_format,
        description="yaml unless said",
        schema={"type": "string", "enum": list(FORMATS)},
    )
    return [
        Route(
            method="GET",
            path=f"{PATH}/versions",
            needs="workflows:read",
            confined_by="workflow",
            handle=versions.index,
            summary="List the versions of a workflow, newest first",
            tag=TAG,
            path_schemas=ITS_NAME,
            query=(limit_param(), VERSIONS.param()),
            answers={
                200: Answer(
                    description="A page of versions",
                    schema=schemas.page_of("WorkflowVersionSummary"),
                )
            },
            problems=(404,),
        ),
        Route(
            method="GET",
            path=f"{PATH}/versions/{{version:str}}",
            needs="workflows:read",
            confined_by="workflow",
            handle=versions.get,
            summary="Read one version, which never changes",
            tag=TAG,
            path_schemas={**ITS_NAME, "version": VERSION_SCHEMA},
            answers={200: Answer(description="The version", schema=schemas.ref("WorkflowVersion"))},
            problems=(404,),
        ),
        Route(
            method="GET",
            path=f"{PATH}/diff",
            needs="workflows:read",
            confined_by="workflow",
            handle=versions.diff,
            summary="Compare two versions, step by step",
            tag=TAG,
            path_schemas=ITS_NAME,
            query=(
                _number_param("from", "The one before `to`, unless said"),
                _number_param("to", "The newest, unless said"),
            ),
            answers={200: Answer(description="What changed", schema=schemas.ref("WorkflowDiff"))},
            problems=(404,),
        ),
        Route(
            method="GET",
            path=f"{PATH}/export",
            needs="workflows:read",
            confined_by="workflow",
            handle=versions.export,
            summary="Take a definition away as YAML, JSON or a Mermaid flowchart",
            tag=TAG,
            path_schemas=ITS_NAME,
            query=(exported, _number_param("version", "The newest, unless said")),
            answers={
                200: Answer(
                    description="The definition",
                    schema=schemas.ANY_OBJECT,
                    media_type="application/yaml",
                    others={
                        "application/json": schemas.ANY_OBJECT,
                        "text/vnd.mermaid": schemas.TEXT,
                    },
                )
            },
            problems=(404,),
        ),
    ]
