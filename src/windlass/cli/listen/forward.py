"""How a delivery is answered: always the same way, or as the program behind us answers it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit

from windlass.cli.limits import FORWARD_SECONDS_MAX, LISTEN_BODY_BYTES_MAX
from windlass.http1.connection import AnswerBounds, Connection
from windlass.limits import HEAD_BYTES_MAX, HEAD_FIELDS_MAX

Fields = tuple[tuple[bytes, bytes], ...]

# They are about one connection and say nothing about the delivery; lengths are counted anew.
HOP_BY_HOP: Final = frozenset(
    {
        *(b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
        *(b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"content-length", b"host"),
    }
)
_BOUNDS: Final = AnswerBounds(
    body_bytes_max=LISTEN_BODY_BYTES_MAX, head_bytes_max=HEAD_BYTES_MAX, fields_max=HEAD_FIELDS_MAX
)
# Of the path forwarded to; what is quoted already stays so.
_QUOTED: Final = "/%:@!$&'()*+,;=~"
# These say their length even when it is nothing.
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A request as it was sent."""

    method: str
    raw_path: str  # still quoted
    raw_query: str
    fields: Fields  # names in lower case

    @property
    def target(self) -> str:
        return f"{self.raw_path}?{self.raw_query}" if self.raw_query else self.raw_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes back to the sender."""

    status: int
    fields: Fields = ()  # without those of one connection
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    reply: Reply
    trouble: str | None = None  # why it could not be forwarded; None: it was, or need not be


Answer = Callable[[Incoming, bytes], Awaitable[Answered]]


def always(status: int) -> Answer:
    async def answer(_incoming: Incoming, _body: bytes) -> Answered:
        return Answered(reply=Reply(status=status))

    return answer


def forward_to(base: str) -> Answer:
    """Pass a delivery on below `base`, byte for byte, and its answer back."""
    base = base.rstrip("/")

    async def answer(incoming: Incoming, body: bytes) -> Answered:
        if _climbs(incoming.raw_path):
            said = "a path with . or .. as a part could lead out of the address forwarded to"
            return Answered(reply=told(400, said), trouble=said)
        try:
            async with asyncio.timeout(FORWARD_SECONDS_MAX):
                return Answered(reply=await _ask(base, incoming, body))
        except TimeoutError:
            return _failed(base, incoming, f"no answer in {FORWARD_SECONDS_MAX:g} s")
        except (OSError, ValueError) as trouble:
            return _failed(base, incoming, str(trouble) or type(trouble).__name__)

    return answer


def told(status: int, said: str) -> Reply:
    """An answer in words."""
    fields = ((b"content-type", b"text/plain; charset=utf-8"),)
    return Reply(status=status, fields=fields, body=f"{said}\n".encode())


def end_to_end(fields: Iterable[tuple[bytes, bytes]]) -> Fields:
    """Without those of one connection, and those that `Connection` names."""
    fields = [(name.lower(), value) for name, value in fields]
    lists = b",".join(value for name, value in fields if name == b"connection")
    dropped = HOP_BY_HOP | {name.strip().lower() for name in lists.split(b",")}
    return tuple((name, value) for name, value in fields if name not in dropped)


def _climbs(raw_path: str) -> bool:
    """However it is encoded, and with what some take for a slash."""
    path = raw_path
    for _ in range(3):
        path = unquote(path)
    return not {".", ".."}.isdisjoint(path.replace("\\", "/").replace(";", "/").split("/"))


async def _ask(base: str, incoming: Incoming, body: bytes) -> Reply:
    address = urlsplit(base)
    tls = _tls() if address.scheme == "https" else None
    _, connection = await asyncio.get_running_loop().create_connection(
        partial(Connection, _BOUNDS),
        address.hostname or "",
        address.port or (443 if tls else 80),
        ssl=tls,
    )
    try:
        message = _message(address, incoming, body)
        await connection.ask(message, is_head=incoming.method == "HEAD")
        answer = await connection.body()
        if connection.is_over_cap:
            raise ValueError(f"the answer is larger than {LISTEN_BODY_BYTES_MAX} bytes")
        if not 200 <= connection.status <= 599:
            raise ValueError(f"{connection.status} is no answer to a delivery")
    finally:
        connection.close()
    fields = (
        (name.encode("latin-1"), value.encode("utf-8", "surrogateescape"))
        for name, value in connection.fields
    )
    return Reply(status=connection.status, fields=end_to_end(fields), body=answer)


def _message(address: SplitResult, incoming: Incoming, body: bytes) -> bytes:
    """What the sender sent, and nothing that a client adds by itself. The server that took it has
    seen to it that no part of it is another line.
    """
    lines = [
        f"{incoming.method} {quote(address.path, _QUOTED)}{incoming.target} HTTP/1.1".encode(),
        f"host: {_ascii(address)}".encode(),
        *(name + b": " + value for name, value in end_to_end(incoming.fields)),
        b"connection: close",
    ]
    if body or incoming.method in _WITH_BODY:
        lines.append(b"content-length: %d" % len(body))
    return b"\r\n".join([*lines, b"", body])


def _ascii(address: SplitResult) -> str:
    """Host and port; raises UnicodeError for a name that cannot be looked up."""
    if address.netloc.isascii():
        return address.netloc
    name = (address.hostname or "").encode("idna").decode()
    return name if address.port is None else f"{name}:{address.port}"


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _failed(base: str, incoming: Incoming, why: str) -> Answered:
    address = urlsplit(base)
    origin = f"{address.scheme}://{address.netloc}"
    return Answered(
        reply=told(502, f"windlass listen could not forward this to {origin}: {why}"),
        trouble=f"not forwarded to {base}{incoming.target}: {why}",
    )
