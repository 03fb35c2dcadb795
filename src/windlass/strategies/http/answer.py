"""A receiver's answer (HTTP response), as far as it was read, and the redirects that follow.

What nobody may need of an answer is worked out when it is asked for. Redirects are followed only
where a job allows it, and only within one origin: whoever may answer at an origin may also send us
round within it; credentials and bodies never go to another one, whatever it says. Every hop is
judged by the egress guard as the first one was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin, urlsplit

from windlass.errors import MalformedBody
from windlass.http1.connection import Connection, Fields
from windlass.limits import EXCERPT_CHARS_MAX, RECORD_HEADER_CHARS_MAX
from windlass.model.job.target import target_of
from windlass.model.json import strict as strict_json
from windlass.model.json.storable import harmless_text

# Redirects that keep method and body, and those that are followed by a GET.
_KEEP: Final = frozenset({307, 308})
_ASK_ANEW: Final = frozenset({301, 302, 303})


class Answer:
    def __init__(self, wire: Connection, lines: Fields, body: bytes) -> None:
        self.status = wire.status
        self.reason = wire.reason
        self._lines = lines
        self.headers: Mapping[str, str] = first_by_name(lines)
        # As it came; to be followed, never to be kept.
        self.location = self.headers.get("location", "")
        self.sent_secrets: Collection[str] = ()  # which its sender knows from us
        self.body = body
        self.is_whole = wire.is_whole  # False: there was more than we read
        # The beginning, fit to be stored. A character has four bytes at most.
        head = body[: 4 * EXCERPT_CHARS_MAX].decode("utf-8", "replace")
        self.excerpt = harmless_text(head[:EXCERPT_CHARS_MAX])

    @cached_property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @cached_property
    def fields(self) -> Mapping[str, str]:
        """Headers by lower-case name; those that came more than once are joined."""
        made: dict[str, str] = {}
        for name, text in self._lines:
            lower = name.lower()
            text = harmless_text(text)
            made[lower] = f"{made[lower]}, {text}" if lower in made else text
        return made

    @cached_property
    def json(self) -> Any:
        """The body parsed; None when it is not JSON, or not all of it was read."""
        if not self.is_whole:
            return None
        try:
            return strict_json.parse(self.body)
        except MalformedBody:
            return None

    @property
    def json_text(self) -> str | None:
        """What a body that calls itself JSON holds, as text that can be stored; else None."""
        kind = self.headers.get("content-type", "").lower()
        if "json" not in kind or not self.is_whole:
            return None
        try:
            return strict_json.write(strict_json.parse(self.body))
        except (MalformedBody, ValueError):
            return None


def first_by_name(lines: Fields) -> dict[str, str]:
    """Headers by lower-case name; of several with one name, the first."""
    return {name.lower(): text for name, text in reversed(lines)}


class Request(NamedTuple):
    method: str
    url: str
    body: bytes | None
    content_type: str | None  # None: no body, or the caller's own headers say it


def next_hop(request: Request, answer: Answer) -> Request | None:
    """The request that follows from `answer`, or None when none does."""
    if answer.status not in _KEEP and answer.status not in _ASK_ANEW:
        return None
    url = _joined(request, answer.location)
    if url is None or _origin(url) is None or _origin(url) != _origin(request.url):
        return None
    if answer.status in _KEEP or request.method in ("GET", "HEAD"):
        return request._replace(url=url)
    return Request(method="GET", url=url, body=None, content_type=None)


def redirect_host(request: Request, answer: Answer) -> str | None:
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
