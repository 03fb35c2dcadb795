"""Redirects: followed only where a job allows it, and only within one origin.

Whoever may answer at an origin may also send us round within it; credentials and bodies never go
to another one, whatever it says. Every hop is judged by the egress guard as the first one was.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import urljoin, urlsplit

from windlass.limits import RECORD_HEADER_CHARS_MAX
from windlass.model.job.target import target_of
from windlass.strategies.http.answer import Answer

_KEEP: Final = frozenset({307, 308})
_ASK_ANEW: Final = frozenset({301, 302, 303})


class Request(NamedTuple):
    method: str
    url: str
    body: bytes | None
    content_type: str | None  # None: no body, or the caller's own headers say it


def redirected(request: Request, answer: Answer) -> Request | None:
    """The request that follows from `answer`, or None when none does."""
    if answer.status not in _KEEP and answer.status not in _ASK_ANEW:
        return None
    url = _joined(request, answer.location)
    if url is None or _origin(url) is None or _origin(url) != _origin(request.url):
        return None
    if answer.status in _KEEP or request.method in ("GET", "HEAD"):
        return request._replace(url=url)
    return Request(method="GET", url=url, body=None, content_type=None)


def pointed_to(request: Request, answer: Answer) -> str | None:
    """The host a redirect leads to, without the path, which may hold anything."""
    location = answer.headers.get("location", "")
    url = _joined(request, location) if 300 <= answer.status < 400 else None
    return target_of(url) or "no host" if url is not None else None


def _joined(request: Request, text: str) -> str | None:
    if not text or len(text) > RECORD_HEADER_CHARS_MAX or not text.isprintable():
        return None
    try:
        return urljoin(request.url, text)
    except ValueError:
        return None


def _origin(url: str) -> tuple[str, str | None] | None:
    """Scheme, host and port; None for what is not an address to call."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return None if "@" in parts.netloc else (parts.scheme, target_of(url))
