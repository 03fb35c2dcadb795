"""/v1/strategies: which kinds of jobs this node performs, and what each takes."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Final

from litestar.types import ASGIApp

from windlass.api.http import components as schemas
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.parts import ApiParts
from windlass.strategies.input_schema import input_schemas
from windlass.strategies.plugins.described import Described

_INPUTS: Final = input_schemas(is_template=False)


def routes(parts: ApiParts) -> list[Route]:
    async def index(_request: Call, _query: dict[str, Any]) -> ASGIApp:
        return json_reply([_view(strategy) for strategy in parts.strategies()])

    return [
        Route(
            method="GET",
            path="/v1/strategies",
            handle=index,
            summary="Which kinds of jobs this node performs",
            description="Those of plugins have `is_builtin: false`; one that could not be loaded "
            "says why in `error`. After a reload that failed, the code before it goes on.",
            tag="Nodes",
            answers={
                200: Answer(
                    description="Every kind", schema=schemas.listed(schemas.ref("Strategy"))
                )
            },
        )
    ]


def _view(strategy: Described) -> dict[str, Any]:
    """A builtin kind's input is described in the OpenAPI document, and here in the same words."""
    if strategy.is_builtin:
        strategy = replace(strategy, input_schema=_INPUTS.get(strategy.kind))
    return asdict(strategy)
