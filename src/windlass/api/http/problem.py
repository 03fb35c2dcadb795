"""Every refusal as application/problem+json (RFC 9457).

Promises: whatever goes wrong, the caller gets a document with type, title, status, detail, code and
the request's id; what is wrong with the input is named by pointers. An unexpected error is logged
with its trace and shown without it.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import structlog

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


class BadRequest(WindlassError):
    """The request is not one that HTTP knows."""

    code = "bad_request"
    status = 400


class NothingThere(WindlassError):
    """No route has this path."""

    code = "not_found"
    status = 404

    def __init__(self, path: str) -> None:
        super().__init__(f"there is nothing at {path[:200]}")


class MethodNotAllowed(WindlassError):
    """The path is there, and takes other methods; see `Allow`."""

    code = "method_not_allowed"
    status = 405

    def __init__(self, method: str, allow: str) -> None:
        super().__init__(f"{method} is not offered here")
        self.allow = allow


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
    if isinstance(trouble, MethodNotAllowed):
        headers.append((b"allow", trouble.allow.encode()))
    if isinstance(trouble, PreconditionFailed) and trouble.etag is not None:
        headers.append((b"etag", trouble.etag.encode()))
    return _reply(document, *headers)


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
