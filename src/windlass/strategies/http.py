"""`http`: one request; 2xx is success.

Bounded in time (the attempt's timeout covers everything), in size (the answer is read raw up to a
cap and the rest is left), and in reach (redirects are not followed, no proxy environment).
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import aiohttp
import msgspec

from windlass import __version__
from windlass.limits import RESPONSE_BYTES_MAX
from windlass.model.attempt import Attempt
from windlass.model.harmless import harmless_text
from windlass.model.outcome import Failed, Outcome, Succeeded
from windlass.model.pointer import step
from windlass.strategies.strategy import refused_input

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
BODIES: Final = ("json", "text", "form", "base64")
_FIELDS: Final = ("method", "url", "headers", *BODIES)
URL_CHARS_MAX: Final = 4_096
HEADERS_MAX: Final = 64
EXCERPT_CHARS: Final = 2_000
# Another try may help: too slow, too early, too often; and 5xx, when the far side broke.
_TRANSIENT: Final = frozenset({408, 425, 429})


def check_input(value: dict[str, Any]) -> list[tuple[str, str]]:
    problems = [
        (step(name), f"unknown field; known are {' '.join(_FIELDS)}")
        for name in value
        if name not in _FIELDS
    ]
    if trouble := _url_trouble(value.get("url")):
        problems.append(("/url", trouble))
    if value.get("method", "POST") not in METHODS:
        problems.append(("/method", f"must be one of: {' '.join(METHODS)}"))
    problems += _header_problems(value.get("headers", {}))
    if sum(name in value for name in BODIES) > 1:
        problems.append(("", f"has more than one body; give one of: {' '.join(BODIES)}"))
    if "text" in value and not isinstance(value["text"], str):
        problems.append(("/text", "must be text"))
    if "form" in value and not _is_text_map(value["form"]):
        problems.append(("/form", "must be an object of texts"))
    if "base64" in value and _decoded(value["base64"]) is None:
        problems.append(("/base64", "must be base64 text"))
    return problems


def _url_trouble(url: object) -> str | None:
    if not isinstance(url, str) or not 1 <= len(url) <= URL_CHARS_MAX or not url.isprintable():
        return f"must be an http or https address of at most {URL_CHARS_MAX} characters"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as trouble:
        return f"is not an address: {trouble}"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "must start with http:// or https:// and name a host"
    if parts.username is not None or parts.password is not None:
        return "must not hold a user name or password; use a header"
    return None


def _header_problems(headers: Any) -> list[tuple[str, str]]:
    if not _is_text_map(headers) or len(headers) > HEADERS_MAX:
        return [("/headers", f"must be an object of at most {HEADERS_MAX} texts")]
    return [
        ("/headers" + step(name), "must be a header name and a value without line breaks")
        for name, text in headers.items()
        if not name
        or not name.isascii()
        or not name.replace("-", "").replace("_", "").isalnum()
        or not (text == "" or text.isprintable())
    ]


def _is_text_map(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _decoded(text: object) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except ValueError:
        return None


class Http:
    """One session for all deliveries: connections are kept and reused."""

    def __init__(self, connections_max: int) -> None:
        self._connections_max = connections_max
        self._session: aiohttp.ClientSession | None = None

    async def perform(self, attempt: Attempt) -> Outcome:
        request = json.loads(attempt.input)
        if problems := check_input(request):
            return refused_input(problems)
        headers = {"user-agent": f"windlass/{__version__}", "accept-encoding": "identity"}
        headers |= {
            "webhook-id": f"job_{attempt.job_id.hex}",
            "idempotency-key": f"job_{attempt.job_id.hex}",
            "windlass-attempt": str(attempt.number),
        }
        if attempt.correlation_id is not None:
            headers["x-correlation-id"] = attempt.correlation_id
        body, content_type = _body(request)
        if content_type is not None:
            headers["content-type"] = content_type
        headers |= request.get("headers", {})
        try:
            async with self._open().request(
                request.get("method", "POST"),
                request["url"],
                data=body,
                headers=headers,
                allow_redirects=False,
            ) as response:
                excerpt = await _read_capped(response)
                return _judge(response, excerpt)
        except aiohttp.ClientError as trouble:
            return Failed(type(trouble).__name__, str(trouble))
        except (OSError, ValueError) as trouble:
            return Failed(type(trouble).__name__, str(trouble) or type(trouble).__name__)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections_max),
                timeout=aiohttp.ClientTimeout(total=None),  # the attempt's deadline covers it all
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
                max_line_size=16_384,
                max_field_size=16_384,
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)


def _body(request: dict[str, Any]) -> tuple[bytes | None, str | None]:
    if "json" in request:
        return msgspec.json.encode(request["json"]), "application/json"
    if "text" in request:
        return request["text"].encode(), "text/plain; charset=utf-8"
    if "form" in request:
        return urlencode(request["form"]).encode(), "application/x-www-form-urlencoded"
    if "base64" in request:
        return _decoded(request["base64"]), "application/octet-stream"
    return None, None


async def _read_capped(response: aiohttp.ClientResponse) -> bytes:
    """At most the cap; an endless body is cut off, and its connection with it."""
    taken = bytearray()
    async for chunk in response.content.iter_chunked(8_192):
        taken += chunk
        if len(taken) >= RESPONSE_BYTES_MAX:
            response.close()
            break
    return bytes(taken[:RESPONSE_BYTES_MAX])


def _judge(response: aiohttp.ClientResponse, body: bytes) -> Outcome:
    status = response.status
    excerpt = harmless_text(body.decode("utf-8", "replace")[:EXCERPT_CHARS])
    if 200 <= status < 300:
        return Succeeded(msgspec.json.encode({"status_code": status, "body": excerpt}))
    return Failed(
        f"http {status}",
        f"the receiver answered {status} {harmless_text(response.reason or '')}".rstrip(),
        {"status_code": status, "body": excerpt},
        is_final=status not in _TRANSIENT and status < 500,
    )
