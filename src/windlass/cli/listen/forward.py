"""How a delivery is answered: always the same way, or as the program behind us answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from windlass.cli.limits import FORWARD_SECONDS_MAX, LISTEN_BODY_BYTES_MAX, READ_BYTES

# They are about one connection and say nothing about the delivery; lengths are counted anew.
HOP_BY_HOP: Final = frozenset(
    {
        *("connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"),
        *("proxy-authenticate", "proxy-authorization", "proxy-connection"),
        *("content-length", "host"),
    }
)
# What the client would add by itself: the program behind us sees what the sender sent.
ADDED: Final = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    response: web.Response
    trouble: str | None = None  # why it could not be forwarded; None: it was, or need not be


Answer = Callable[[web.Request, bytes], Awaitable[Answered]]


def always(status: int) -> Answer:
    async def answer(_request: web.Request, _body: bytes) -> Answered:
        return Answered(response=web.Response(status=status))

    return answer


def forward_to(base: str, session: aiohttp.ClientSession) -> Answer:
    """Pass a delivery on below `base`, byte for byte, and its answer back."""

    async def answer(request: web.Request, body: bytes) -> Answered:
        if _climbs(request.rel_url.raw_path):
            said = "a path with . or .. as a part could lead out of the address forwarded to"
            return Answered(response=web.Response(status=400, text=said + "\n"), trouble=said)
        url = URL(base.rstrip("/") + request.rel_url.raw_path_qs, encoded=True)
        try:
            async with session.request(
                request.method,
                url,
                data=body or None,
                headers=end_to_end(request.headers),
                skip_auto_headers=ADDED,
                allow_redirects=False,
            ) as answered:
                return Answered(response=await _passed_back(answered))
        except TimeoutError:
            return _failed(url, f"no answer in {FORWARD_SECONDS_MAX:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as trouble:
            return _failed(url, str(trouble) or type(trouble).__name__)

    return answer


def _climbs(raw_path: str) -> bool:
    """However it is encoded, and with what some take for a slash."""
    path = raw_path
    for _ in range(3):
        path = unquote(path)
    return not {".", ".."}.isdisjoint(path.replace("\\", "/").replace(";", "/").split("/"))


def session_for_forwarding() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=FORWARD_SECONDS_MAX),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
    )


def end_to_end(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Without those of one connection, and those that `Connection` names."""
    named = {name.strip().lower() for name in headers.get("Connection", "").split(",")}
    kept: Iterable[tuple[str, str]] = (
        (name, value)
        for name, value in headers.items()
        if name.lower() not in HOP_BY_HOP and name.lower() not in named
    )
    return CIMultiDict(kept)


async def _passed_back(answered: aiohttp.ClientResponse) -> web.Response:
    body = bytearray()
    async for piece in answered.content.iter_chunked(READ_BYTES):
        body += piece
        if len(body) > LISTEN_BODY_BYTES_MAX:
            answered.close()
            raise ValueError(f"the answer is larger than {LISTEN_BODY_BYTES_MAX} bytes")
    return web.Response(
        status=answered.status,
        reason=answered.reason,
        headers=end_to_end(answered.headers),
        body=bytes(body),
    )


def _failed(url: URL, why: str) -> Answered:
    text = f"windlass listen could not forward this to {url.origin()}: {why}\n"
    return Answered(
        response=web.Response(status=502, text=text), trouble=f"not forwarded to {url}: {why}"
    )
