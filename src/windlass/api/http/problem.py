"""Every refusal as application/problem+json (RFC 9457).

Promises: whatever goes wrong, the caller gets a document with type, title, status, detail, code and
the request's id; what is wrong with the input is named by pointers. An unexpected error is logged
with its trace and shown without it.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException

from windlass.api.http.caller import caller_of
from windlass.api.http.reply import Header, Reply, encode
from windlass.errors import InvalidInput, PreconditionFailed, Unauthorized, WindlassError
from windlass.model.json.storable import harmless_text

log = structlog.get_logger()

PROBLEM: Final[Header] = (b"content-type", b"application/problem+json")
# Where each has a page (problem_pages.py). As good as absolute, seen from the request.
PROBLEMS: Final = "/problems/"
ERRORS_SHOWN_MAX: Final = 100
_UNEXPECTED: Final = "something unexpected went wrong; the log has it under this request id"


class NotAcceptable(WindlassError):
    """The body is of a type that is not taken here."""

    code = "unsupported_media_type"
    status = 415


def problem_reply(trouble: Exception, request_id: str) -> Reply:
    """The answer to a request that ended in `trouble`."""
    if not isinstance(trouble, WindlassError):
        log.error("request_failed", request_id=request_id, exc_info=trouble)
        return _reply(_document(500, "internal", _UNEXPECTED, request_id))
    if trouble.status >= 500:
        log.warning("request_refused", request_id=request_id, error=str(trouble))
    document = _document(trouble.status, trouble.code, str(trouble), request_id)
    if isinstance(trouble, InvalidInput):
        document["detail"] = "the input cannot be taken; see errors"
        document["errors"] = [
            {"pointer": harmless_text(p.pointer), "detail": harmless_text(p.detail)}
            for p in trouble.problems[:ERRORS_SHOWN_MAX]
        ]
    for name, fact in trouble.facts.items():
        # What a caller sent may be no text that can be sent back.
        document[name] = harmless_text(fact) if isinstance(fact, str) else fact
    headers: list[Header] = []
    retry_after = getattr(trouble, "retry_after_seconds", None)
    if retry_after is not None:
        headers.append((b"retry-after", b"%d" % retry_after))
    if isinstance(trouble, Unauthorized):
        headers.append((b"www-authenticate", b'Bearer realm="windlass"'))
    if isinstance(trouble, PreconditionFailed) and trouble.etag is not None:
        headers.append((b"etag", trouble.etag.encode()))
    return _reply(document, *headers)


def on_http_exception(request: Request[Any, Any, Any], trouble: HTTPException) -> Response[bytes]:
    """What the router refuses: no such path, no such method, a broken request line."""
    caller = caller_of(request.scope)
    code = {404: "not_found", 405: "method_not_allowed"}.get(trouble.status_code, "bad_request")
    detail = {
        404: f"there is nothing at {request.scope['path'][:200]}",
        405: f"{request.scope['method']} is not offered here",
    }.get(trouble.status_code, trouble.detail)
    document = _document(trouble.status_code, code, detail, caller.request_id)
    return Response(
        encode(document),
        status_code=trouble.status_code,
        media_type="application/problem+json",
        headers=dict(trouble.headers or {}),
    )


def on_exception(request: Request[Any, Any, Any], trouble: Exception) -> Response[bytes]:
    """What nobody foresaw, outside of a route."""
    reply = problem_reply(trouble, caller_of(request.scope).request_id)
    return Response(reply.body, status_code=reply.status, media_type="application/problem+json")


def _document(status: int, code: str, detail: str, request_id: str) -> dict[str, Any]:
    return {
        "type": PROBLEMS + code,
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": harmless_text(detail),
        "code": code,
        "request_id": request_id,
    }


def _reply(document: dict[str, Any], *headers: Header) -> Reply:
    return Reply(encode(document), document["status"], (PROBLEM, *headers))
