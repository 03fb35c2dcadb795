"""Answers a receiver may give, in bytes, and what is to be made of them."""

from __future__ import annotations

from typing import Final, NamedTuple

OK: Final = b"HTTP/1.1 200 OK\r\n"
CHUNKED: Final = OK + b"transfer-encoding: chunked\r\n\r\n"
FINE: Final = OK + b"content-length: 2\r\n\r\nok"


class Heard(NamedTuple):
    """What is to be heard. `is_kept`: another request may follow on this connection."""

    status: int
    body: bytes
    is_kept: bool


class Told(NamedTuple):
    answer: bytes
    heard: Heard
    is_head: bool = False
    hangs_up: bool = False


ANSWERS: Final[dict[str, Told]] = {
    "with a length": Told(FINE, Heard(200, b"ok", True)),
    "with a length of nothing": Told(OK + b"content-length: 0\r\n\r\n", Heard(200, b"", True)),
    "without words": Told(b"HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n", Heard(200, b"", True)),
    "after empty lines": Told(b"\r\n\r\n" + FINE, Heard(200, b"ok", True)),
    "before empty lines": Told(
        OK + b"connection: close\r\ncontent-length: 0\r\n\r\n\r\n", Heard(200, b"", False)
    ),
    "that says goodbye": Told(
        OK + b"Connection: Close\r\ncontent-length: 2\r\n\r\nok", Heard(200, b"ok", False)
    ),
    "of an old server": Told(
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", Heard(200, b"ok", False)
    ),
    "of an old server that stays": Told(
        b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok",
        Heard(200, b"ok", True),
    ),
    "to HEAD": Told(OK + b"content-length: 5000\r\n\r\n", Heard(200, b"", False), is_head=True),
    "204 with a length": Told(
        b"HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n", Heard(204, b"", True)
    ),
    "204 in chunks that never come": Told(
        b"HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n", Heard(204, b"", True)
    ),
    "304 with a length": Told(
        b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", Heard(304, b"", True)
    ),
    "in chunks": Told(CHUNKED + b"1\r\no\r\n1;a=b\r\nk\r\n0\r\n\r\n", Heard(200, b"ok", True)),
    "in chunks with fields behind": Told(
        CHUNKED + b"2\r\nok\r\n0\r\nlocation: /x\r\nempty:\r\n\r\n", Heard(200, b"ok", True)
    ),
    "packed, in chunks": Told(
        OK + b"transfer-encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        Heard(200, b"ok", True),
    ),
    "to the end": Told(OK + b"\r\nok", Heard(200, b"ok", False), hangs_up=True),
    "of nothing to the end": Told(OK + b"\r\n", Heard(200, b"", False), hangs_up=True),
    "packed, to the end": Told(
        OK + b"transfer-encoding: gzip\r\n\r\nok", Heard(200, b"ok", False), hangs_up=True
    ),
    "after others": Told(
        b"HTTP/1.1 100 Continue\r\n\r\n"
        b"HTTP/1.1 102 Processing\r\ncontent-length: 3\r\nx: y\r\n\r\n"
        b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + FINE,
        Heard(200, b"ok", True),
    ),
    "after one with a body it must not have": Told(
        b"HTTP/1.1 199 Odd\r\ncontent-length: 3\r\n\r\nodd" + FINE, Heard(200, b"ok", True)
    ),
    "that offers another protocol": Told(
        OK + b"connection: upgrade\r\nupgrade: h2c\r\ncontent-length: 2\r\n\r\nok",
        Heard(200, b"ok", True),
    ),
    "that changes the protocol": Told(
        b"HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nnoise",
        Heard(101, b"", False),
    ),
    "that changes the protocol to none": Told(
        b"HTTP/1.1 101 Switching\r\n\r\n", Heard(101, b"", False)
    ),
    "and a second one": Told(
        FINE + b"HTTP/1.1 500 Oops\r\nwebhook-delivery: abort\r\ncontent-length: 2\r\n\r\nno",
        Heard(200, b"ok", False),
    ),
    "and the beginning of a second one": Told(FINE + b"H", Heard(200, b"ok", False)),
    "and noise": Told(FINE + b"\0\0\0", Heard(200, b"ok", False)),
    "204 with the body it must not have": Told(
        b"HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok", Heard(204, b"", False)
    ),
}

# What is no answer -> what it is called. Each is followed by a hang-up.
BROKEN: Final[dict[str, tuple[bytes, str]]] = {
    "nothing": (b"", "disconnected"),
    "empty lines": (b"\r\n\r\n", "disconnected"),
    "half a line": (b"HTTP/1.1 20", "disconnected"),
    "half a head": (OK + b"content-length: 2\r\n", "disconnected"),
    "only others": (b"HTTP/1.1 100 Continue\r\n\r\n", "disconnected"),
    "half a body": (OK + b"content-length: 3\r\n\r\nok", "broken answer"),
    "half a chunk": (CHUNKED + b"3\r\nok", "broken answer"),
    "chunks without the last": (CHUNKED + b"2\r\nok\r\n", "broken answer"),
    "chunks, packed, without the last": (
        OK + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nok\r\n",
        "broken answer",
    ),
    "no chunk": (CHUNKED + b"zz\r\n", "not http"),
    "a length and chunks": (
        OK + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "not http",
    ),
    "two lengths": (OK + b"content-length: 2\r\ncontent-length: 3\r\n\r\nok", "not http"),
    "a length below nothing": (OK + b"content-length: -2\r\n\r\nok", "not http"),
    "a length beyond measure": (OK + b"content-length: " + b"9" * 30 + b"\r\n\r\n", "not http"),
    "lines without CR": (b"HTTP/1.1 200 OK\ncontent-length: 2\n\nok", "not http"),
    "a folded field": (OK + b"x: a\r\n b\r\ncontent-length: 0\r\n\r\n", "not http"),
    "a field without a name": (OK + b": x\r\n\r\n", "not http"),
    "no status": (b"HTTP/1.1 000 None\r\ncontent-length: 0\r\n\r\n", "not http"),
    "a status of two digits": (b"HTTP/1.1 20 OK\r\ncontent-length: 0\r\n\r\n", "not http"),
    "a request": (b"GET / HTTP/1.1\r\nhost: you\r\n\r\n", "not http"),
    "a greeting of TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "not http"),
    "too many fields": (OK + b"x: y\r\n" * 129 + b"\r\n", "headers too large"),
    "a field beyond measure": (OK + b"x: " + b"y" * 70_000 + b"\r\n\r\n", "headers too large"),
}
