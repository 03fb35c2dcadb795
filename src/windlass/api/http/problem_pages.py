"""/problems/{code}: where the `type` of a problem document leads (RFC 9457).

One page a code, made from the errors themselves: a class says what it means in its docstring.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from html import escape
from http import HTTPStatus
from typing import Any, Final

from starlette.types import ASGIApp

from windlass.api.http import docs_page
from windlass.api.http import shapes as schemas
from windlass.api.http.problem import PROBLEMS
from windlass.api.http.reply import Reply
from windlass.api.http.route import Answer, Call, Route
from windlass.errors import NotFound, WindlassError
from windlass.model.identity.rights import NOBODY

_CODE: Final[schemas.Schema] = {"type": "string", "pattern": "^[a-z_]{1,60}$"}
# Problems that no error of ours is raised for: what nobody foresaw.
_OTHERS: Final[dict[str, tuple[int, str]]] = {
    "internal": (500, "Something unexpected went wrong. The log has it under the request's id."),
}


def known() -> dict[str, tuple[int, str]]:
    """Every code that can be answered, with its status and what it means."""
    found = dict(_OTHERS)
    for error in _errors(WindlassError):
        if "code" in vars(error):
            found.setdefault(error.code, (error.status, inspect.cleandoc(error.__doc__ or "")))
    return dict(sorted(found.items()))


def _errors(parent: type[WindlassError]) -> Iterator[type[WindlassError]]:
    for error in parent.__subclasses__():
        yield error
        yield from _errors(error)


def routes() -> list[Route]:
    async def index(_request: Call, _query: dict[str, Any]) -> ASGIApp:
        rows = "".join(
            f"<tr><td>{status}<td><a href='{PROBLEMS}{code}'><code>{code}</code></a>"
            f"<td>{escape(words)}"
            for code, (status, words) in known().items()
        )
        return _page("Problems", f"<table>{rows}</table>")

    async def one(request: Call, _query: dict[str, Any]) -> ASGIApp:
        code = request.path_params["code"]
        if code not in known():
            raise NotFound("problem", code)
        status, words = known()[code]
        return _page(
            code,
            f"<p>{escape(words)}</p><p>Status {status} {HTTPStatus(status).phrase}. The document's "
            "<code>detail</code> says what it was about and what to do; <code>errors</code>, where "
            "there are any, which fields.</p>"
            f"<p><a href='{PROBLEMS.rstrip('/')}'>All problems</a></p>",
        )

    page = Answer(description="A page", schema=schemas.TEXT, media_type="text/html")
    return [
        Route(
            method="GET",
            path="/problems",
            needs=NOBODY,
            handle=index,
            summary="Every problem that can be answered",
            tag="System",
            answers={200: page},
        ),
        Route(
            method="GET",
            path="/problems/{code:str}",
            needs=NOBODY,
            handle=one,
            summary="What a problem means",
            tag="System",
            path_schemas={"code": _CODE},
            answers={200: page},
            problems=(404,),
        ),
    ]


def _page(title: str, body: str) -> Reply:
    return docs_page.page_reply(title, f"<h1>{escape(title)}</h1>{body}")
