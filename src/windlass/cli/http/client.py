"""HTTP client of the command line: one connection kept open, a deadline on every call.

Promises: a call that loses its connection is made once more, which is safe, because every POST
carries an Idempotency-Key. Whatever is no success raises Refused or Unreachable.
Never: follows a redirect or reads proxy settings; the token goes to the address given and no other.
"""

from __future__ import annotations

import http.client
import json
import socket
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from windlass import __version__
from windlass.cli.exits import BadUsage, Stopped, Unreachable
from windlass.cli.http.problem import refusal
from windlass.cli.limits import ANSWER_BYTES_MAX, CALL_SECONDS, CONNECT_SECONDS, READ_BYTES
from windlass.clock import monotonic

_NOT_WINDLASS = "that is no answer of Windlass; is --url the address of the server itself?"
Query = dict[str, str | int | list[str] | None]


def _whole(text: str) -> int | float:
    """A number that has more digits than Python reads must not hide the rest of its list."""
    try:
        return int(text)
    except ValueError:
        return float(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A success. `text` is the body as it came, so that it can be shown unchanged."""

    status: int
    text: str
    headers: http.client.HTTPMessage

    @property
    def value(self) -> dict[str, Any]:
        """The object in the body; Windlass answers nothing else. Raises Stopped for others."""
        try:
            value = json.loads(self.text, parse_int=_whole)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise Stopped(_NOT_WINDLASS)
        return value

    @property
    def data(self) -> list[dict[str, Any]]:
        """The things in a page of a list."""
        data = self.value.get("data")
        if not isinstance(data, list):
            raise Stopped(_NOT_WINDLASS)
        return data


class Client:
    """One server, by URL; used by one thread, inside `with`."""

    def __init__(self, url: str, token: str | None) -> None:
        self.url = url.rstrip("/")
        self._address = _read_url(self.url)
        self._token = _printable("--token", token)
        self._connection: http.client.HTTPConnection | None = None

    def get(self, path: str, query: Query | None = None, seconds: float = CALL_SECONDS) -> Answer:
        return self._call("GET", path_with(path, query), None, {}, seconds)

    def post(
        self, path: str, body: object = None, key: str | None = None, seconds: float = CALL_SECONDS
    ) -> Answer:
        headers = {"Idempotency-Key": _printable("--idempotency-key", key) or str(uuid.uuid4())}
        return self._call("POST", path, _encode(body), headers, seconds)

    def upload(self, path: str, body: bytes, media_type: str) -> Answer:
        """POST what is no JSON of ours, as it is."""
        headers = {"Idempotency-Key": str(uuid.uuid4()), "Content-Type": media_type}
        return self._call("POST", path, body, headers, CALL_SECONDS)

    def put(self, path: str, body: object) -> Answer:
        return self._call("PUT", path, _encode(body), {}, CALL_SECONDS)

    def patch(self, path: str, body: object) -> Answer:
        return self._call("PATCH", path, _encode(body), {}, CALL_SECONDS)

    def delete(self, path: str) -> Answer:
        return self._call("DELETE", path, None, {}, CALL_SECONDS)

    @contextmanager
    def stream(
        self, path: str, headers: dict[str, str], silence_seconds: float
    ) -> Iterator[http.client.HTTPResponse]:
        """A response to be read as it comes, on a connection of its own."""
        try:
            with closing(self._connect(CONNECT_SECONDS)) as connection:
                connection.request("GET", self._address.path + path, headers=self._headers(headers))
                _timeout(connection.sock, silence_seconds)
                with connection.getresponse() as response:
                    if response.status != 200:
                        raise refusal(response.status, response.read(READ_BYTES))
                    yield response
        except (OSError, http.client.HTTPException) as trouble:
            raise self._unreachable(trouble) from None

    def _call(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], seconds: float
    ) -> Answer:
        deadline = monotonic() + seconds
        for is_last in (False, True):
            try:
                return self._exchange(method, path, body, headers, deadline)
            except TimeoutError:
                self.close()
                raise Unreachable(f"{self.url} did not answer within {seconds:g} s") from None
            except (OSError, http.client.HTTPException) as trouble:
                # A kept connection may have been closed meanwhile; a fresh one decides.
                self.close()
                if is_last or isinstance(trouble, ConnectionRefusedError | socket.gaierror):
                    raise self._unreachable(trouble) from None
        raise AssertionError("the loop above returns or raises")

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], deadline: float
    ) -> Answer:
        if self._connection is None:
            self._connection = self._connect(min(CONNECT_SECONDS, _left(deadline)))
        connection = self._connection
        wire = connection.sock
        _timeout(wire, _left(deadline))
        connection.request(method, self._address.path + path, body, self._headers(headers))
        _timeout(wire, _left(deadline))
        response = connection.getresponse()
        found = bytearray()
        while piece := response.read1(READ_BYTES):
            found += piece
            if len(found) > ANSWER_BYTES_MAX:
                self.close()
                raise Stopped(f"the answer is larger than {ANSWER_BYTES_MAX} bytes; ask for less")
            _timeout(wire, _left(deadline))
        response.close()
        if response.will_close:
            self.close()
        if not 200 <= response.status < 300:
            raise refusal(response.status, bytes(found), response.headers["Retry-After"])
        return Answer(
            status=response.status, text=found.decode(errors="replace"), headers=response.headers
        )

    def _connect(self, seconds: float) -> http.client.HTTPConnection:
        secure = self._address.scheme == "https"
        make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = make(self._address.hostname or "", self._address.port, timeout=seconds)
        connection.connect()
        return connection

    def _headers(self, extra: dict[str, str]) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": f"windlass-cli/{__version__}"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        return {**headers, "Content-Type": "application/json", **extra}

    def _unreachable(self, trouble: Exception) -> Unreachable:
        if isinstance(trouble, TimeoutError):
            reason = "it does not answer"
        else:
            reason = (trouble.strerror if isinstance(trouble, OSError) else None) or str(trouble)
        return Unreachable(
            f"cannot reach Windlass at {self.url}: {reason or type(trouble).__name__}\n"
            "  is it running (windlass up)? its address is given by --url or WINDLASS_URL"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def path_with(path: str, query: Query | None) -> str:
    """`path?query` without what was not given; a list is the same name several times."""
    given = {name: value for name, value in (query or {}).items() if value not in (None, [])}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def segment(text: str) -> str:
    """A name or id as one part of a path: nothing in it can lead elsewhere."""
    if text in {"", ".", ".."}:
        raise BadUsage(f"{text!r} is not a name")
    return quote(text, safe="")


def _read_url(url: str) -> SplitResult:
    wrong = BadUsage(f"--url {url!r} is not an address such as http://127.0.0.1:5777")
    try:
        address = urlsplit(url)
        _ = address.port  # judged only when asked for
    except ValueError:
        raise wrong from None
    if address.scheme not in {"http", "https"} or not address.hostname or address.query:
        raise wrong
    return address


def _printable(flag: str, text: str | None) -> str | None:
    """What goes into a header: one line of ASCII, or it would be refused or change the request."""
    if text and not (text.isascii() and text.isprintable()):
        raise BadUsage(f"{flag} may hold printable ASCII characters only")
    return text or None


def _encode(body: object) -> bytes | None:
    # Escaped throughout: what is no character at all then reaches the server, which says where.
    return None if body is None else json.dumps(body, separators=(",", ":")).encode()


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _timeout(wire: socket.socket | None, seconds: float) -> None:
    # None: http.client has let go of a connection that the server closes after its answer.
    if wire is not None:
        wire.settimeout(seconds)
