"""The record of a delivery: all that helps to understand it, nothing that helps to forge it."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from tests.model.job.attempts import attempt
from tests.strategies.receiver import Receiver, perform_within
from windlass.limits import EXCERPT_CHARS_MAX, RECORD_HEADER_CHARS_MAX, RECORD_HEADERS_MAX
from windlass.model.job.settle import settle
from windlass.strategies.http.http import Http
from windlass.strategies.http.record import shown
from windlass.strategies.http.redact import REDACTED, redact, redact_bytes


async def record(http: Http, url: str, **fields: Any) -> dict[str, Any]:
    return (await perform_within(http, 5, url, **fields)).detail


async def test_a_delivery_leaves_what_it_sent_what_came_back_and_how_long_it_took(
    http: Http, receiver: Receiver
) -> None:
    receiver.will(201, "created", **{"X-Request": "r-1"})
    kept = await record(http, receiver.url + "/hook?key=s3cret", method="PUT", json={"a": 1})
    assert (kept["method"], kept["status_code"]) == ("PUT", 201)
    assert kept["request_headers"]["content-type"] == "application/json"
    assert kept["response_headers"]["x-request"] == "r-1"
    assert kept["response_excerpt"] == "created"
    assert (kept["address"], kept["is_reused"]) == ("127.0.0.1", False)
    timings = kept["timings_ms"]
    assert timings.keys() == {"connect", "first_byte", "total"}
    assert 0 < timings["connect"] < timings["first_byte"] <= timings["total"]
    assert all(ms == round(ms, 3) for ms in timings.values())
    assert "s3cret" not in json.dumps(kept)


async def test_a_connection_used_again_has_no_connect_time(http: Http, receiver: Receiver) -> None:
    await record(http, receiver.url)
    kept = await record(http, receiver.url)
    assert kept["is_reused"] is True
    assert kept["timings_ms"].keys() == {"first_byte", "total"}


async def test_the_record_is_settled_with_the_attempt(http: Http, receiver: Receiver) -> None:
    async def odd(request: web.Request) -> web.StreamResponse:
        return web.Response(status=500, body=b"\x00\xff", headers={"x-odd": "\udcff"})

    receiver.answer = odd
    one = attempt(kind="http", input=json.dumps({"url": receiver.url}))
    settlement = settle(one, await http.perform(one), 0.5)
    stored = json.loads((settlement.detail or "").encode())
    assert stored["status_code"] == 500
    assert "\x00" not in stored["response_excerpt"]


async def test_secrets_of_the_caller_are_not_kept(http: Http, receiver: Receiver) -> None:
    receiver.will(200, **{"set-cookie": "s=S3CRET", "x-amz-security-token": "S3CRET"})
    secret = {
        "Authorization": "Bearer S3CRET",
        "Cookie": "a=S3CRET",
        "X-API-Key": "S3CRET",
        "X-Auth-User": "S3CRET",
        "my-session": "S3CRET",
        "X_PASSWORD": "S3CRET",
        "client-secret-2": "S3CRET",
    }
    kept = await record(http, receiver.url, headers={**secret, "x-plain": "shown"})
    assert receiver.seen[0][0].headers["authorization"] == "Bearer S3CRET"
    assert "S3CRET" not in json.dumps(kept)
    assert kept["request_headers"]["x-plain"] == "shown"
    assert kept["request_headers"]["authorization"] == REDACTED
    assert kept["request_headers"]["windlass-callback-token"] == REDACTED
    assert kept["request_headers"]["idempotency-key"].startswith("job_")
    assert kept["response_headers"]["set-cookie"] == REDACTED


async def test_a_receiver_that_echoes_gives_no_token_away(http: Http, receiver: Receiver) -> None:
    async def echo(request: web.Request) -> web.StreamResponse:
        token = request.headers["windlass-callback-token"]
        return web.json_response({"got": token}, headers={"x-echo": f"it was {token}"})

    receiver.answer = echo
    one = attempt(kind="http", input=json.dumps({"url": receiver.url}))
    settlement = settle(one, await http.perform(one), 0.5)
    token = receiver.seen[0][0].headers["windlass-callback-token"]
    assert token not in f"{settlement.result}{settlement.detail}"
    assert json.loads(settlement.result or "")["json"] == {"got": REDACTED}
    assert json.loads(settlement.detail or "")["response_headers"]["x-echo"] == f"it was {REDACTED}"


async def test_of_a_long_answer_the_beginning_is_kept(http: Http, receiver: Receiver) -> None:
    receiver.will(200, "é" * 10_000, **{"x-long": "y" * 5_000})
    kept = await record(http, receiver.url)
    assert kept["response_excerpt"] == "é" * EXCERPT_CHARS_MAX
    assert kept["response_headers"]["x-long"] == "y" * RECORD_HEADER_CHARS_MAX + "…"


def test_of_many_headers_a_page_is_kept() -> None:
    assert len(shown({f"x-{n}": "" for n in range(1_000)}.items())) == RECORD_HEADERS_MAX


async def test_a_header_that_came_twice_is_joined(http: Http, receiver: Receiver) -> None:
    async def twice(request: web.Request) -> web.StreamResponse:
        response = web.Response()
        response.headers.add("X-Twice", "a")
        response.headers.add("x-twice", "b")
        return response

    receiver.answer = twice
    assert (await record(http, receiver.url))["response_headers"]["x-twice"] == "a, b"


def test_of_signatures_their_kind_is_kept() -> None:
    kept = shown(
        {"webhook-signature": "v1,abc= v1a,def="}.items(), frozenset({"webhook-signature"})
    )
    assert kept == {"webhook-signature": f"v1,{REDACTED} v1a,{REDACTED}"}


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("Bearer long-enough", b"got [redacted] and [redacted]"),
        ("long-enough", b"got [redacted] and [redacted]"),
        ("Basic got", b"got long-enough and long-enough"),
        ("", b"got long-enough and long-enough"),
    ],
)
def test_what_was_sent_is_concealed_in_what_came_back(told: str, kept: bytes) -> None:
    assert redact_bytes(b"got long-enough and long-enough", [told]) == kept


BASIC = "Basic " + base64.b64encode(b"shop:open sesame/+").decode()


@pytest.mark.parametrize(
    ("told", "echoed"),
    [
        ("Bearer two words", "you sent two words"),
        ("two words", "x=two%20words"),
        ("two words", "x=two+words"),
        ("hunter2", "it was hunter2!"),
        ('a"b\\c/d', 'json: a\\"b\\\\c/d'),
        ('a"b\\c/d', 'json: a\\"b\\\\c\\/d'),
        ("geheimé", '{"got": "geheim\\u00e9"}'),
        ("s3cret-value", "\\u0073\\u0033cret-value"),
        ("s3cret-value", "%73%33cret%2Dvalue"),
        ("s3cret-value", "&#115;3cret-value"),
        ("<k&y>", "got &lt;k&amp;y&gt;"),
        ("s3cret-value", base64.b64encode(b"s3cret-value").decode()),
        ("s3cret-value", base64.b64encode(b"X-Key: s3cret-value\r\n").decode()),
        ("s3cret-value", base64.b64encode(b"a s3cret-value").decode()),
        ("k7Qz", base64.b64encode(b"k7Qz").decode()),
        ("k7Qz", base64.b64encode(b"X-Key: k7Qz").decode()),
        ("do\\main", "".join(f"%{byte:02x}" for byte in b"do\\main")),
        ("do\\main", "".join(f"&#{byte};" for byte in b"do\\main")),
        ("do\\main", "".join(f"\\u{byte:04x}" for byte in b"do\\main")),
        ("s3cret-value", b"s3cret-value".hex()),
        ("s3cret-value", b"s3cret-value".hex().upper()),
        # As Go, PHP, JavaScript and Java write them.
        ("k&y'2\"", "got k&amp;y&#39;2&#34;"),
        ("k&y'2\"", "got k&amp;y&#039;2&quot;"),
        ("k&y'2\"", "got k&amp;y&apos;2&quot;"),
        ("two*words", "x=two*words"),
        ("two! words*", "x=two%21+words*"),
        ("two words/", "x=two%2520words%252F"),
        ("k&y's", json.dumps(json.dumps("k\\u0026y&#39;s"))),
        ("two wordsÿ?", base64.b64encode("two wordsÿ?".encode()).decode().replace("/", "\\/")),
        ("Basic " + base64.b64encode("shop:two\xa0words".encode()).decode(), "two\xa0words"),
        (BASIC, "password is open sesame/+"),
        (BASIC, "you are shop:open sesame/+"),
        (BASIC, BASIC),
        ("v1,c2lnbmF0dXJl v1a,b3RoZXI=", "no such signature c2lnbmF0dXJl"),
        ("Bearer abc", "you sent Bearer abc"),
        ("two words ", "you sent two words."),
        ("Bearer  two words\t", "you sent two words."),
        # As PHP escapes the bytes of Latin-1.
        ("geheimé", "x=geheim%E9"),
    ],
)
def test_a_secret_is_found_however_it_is_echoed(told: str, echoed: str) -> None:
    kept = redact(echoed, [told])
    assert REDACTED in kept
    assert "open sesame" not in kept
    assert "words" not in kept
    assert redact_bytes(echoed.encode(), [told]) == kept.encode()
    assert REDACTED in shown({"x-echo": echoed}.items(), sent_secrets=[told])["x-echo"]


LONG = "Zq9-" * 30
WITH_LONG = f"Host: shop.example\r\nX-Key: {LONG}\r\nAccept: */*\r\n"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def in_lines(text: str, size: int, end: str = "\r\n") -> str:
    return "".join(text[at : at + size] + end for at in range(0, len(text), size))


def each(text: str, written: str) -> str:
    return "".join(written.format(byte) for byte in text.encode())


@pytest.mark.parametrize(
    ("told", "echoed"),
    [
        # Base64 in lines: MIME, PEM, indented, inside JSON and inside JSON within JSON.
        (LONG, in_lines(b64(LONG), 76)),
        (LONG, in_lines(b64(WITH_LONG), 76)),
        (LONG, in_lines(b64(WITH_LONG), 64, "\n")),
        (LONG, "raw: |\n  " + in_lines(b64(WITH_LONG), 64, "\n  ")),
        (LONG, json.dumps({"raw": in_lines(b64(WITH_LONG), 76)})),
        (LONG, json.dumps(json.dumps({"raw": in_lines(b64(WITH_LONG), 76)}))),
        (LONG + "ÿ?", json.dumps(in_lines(b64(LONG + "ÿ?"), 60)).replace("/", "\\/")),
        (LONG, in_lines(b64(WITH_LONG), 76, "&#13;&#10;")),
        ("s3cret-value", in_lines(b64("X-Key: " + "x" * 46 + "s3cret-value"), 76)),
        # Base64 of Base64, wherever it begins, and of what is escaped inside it.
        ("k7Qz", b64(b64("k7Qz"))),
        ("s3cret-value", b64(b64("s3cret-value"))),
        ("s3cret-value", json.dumps({"a": b64(b64("X-Key: s3cret-value\r\n"))})),
        ("s3cret-value", "got-" + b64(b64("a s3cret-value"))),
        ("s3cret-value", "got" + b64("{" + b64("a s3cret-value") + "}").rstrip("=")),
        (LONG, b64(in_lines(b64(WITH_LONG), 76))),
        (LONG, in_lines(b64(b64(WITH_LONG)), 76)),
        ("ÿÿ?>ÿÿ", b64(b64("ÿÿ?>ÿÿ")).replace("+", "-").replace("/", "_")),
        ('a"b\\c/d', b64(json.dumps({"got": 'a"b\\c/d'}))),
        ("s3cret-value", base64.b64encode("s3cret-value".encode("utf-16-le")).decode()),
        # Escapes of Python, JavaScript, C and mail, and what prints certificates.
        ("s3cret-value", each("s3cret-value", "\\U{:08x}")),
        ("s3cret-value", each("s3cret-value", "\\U{:08X}")),
        ("s3cret-value", each("s3cret-value", "\\u{{{:x}}}")),
        ("s3cret-value", each("s3cret-value", "\\{:o}")),
        ("s3cret-value", each("s3cret-value", "\\{:03o}")),
        ("s3cret-value", each("s3cret-value", "={:02X}")),
        ("s3cret-value", each("s3cret-value", "={:02x}")),
        ("s3cret-value", json.dumps(each("s3cret-value", "\\u{{{:x}}}"))),
        ("a=b=c", "key is a=3Db=3Dc"),
        ("s3cret-value", "s3cret=\r\n-value"),
        ("s3cret-value", json.dumps("s3cret=\r\n-value")),
        ("s3cret-value", "s3cret=2Dvalue"),
        ("geheimé", "geheim=C3=A9"),
        ("geheimé", "geheim=E9"),
        ("geheimé", "geheim\\303\\251"),
        ("geheimé", "b'geheim\\xc3\\xa9'"),
        (f"Basic {b64('u:key😀')}", "key\\uD83D\\uDE00"),
        ("s3cret-value", ":".join(f"{byte:02x}" for byte in b"s3cret-value")),
        ("s3cret-value", "got " + ":".join(f"{byte:02X}" for byte in b"a s3cret-value b")),
        ("k7Qz", ":".join(f"{byte:02x}" for byte in b"k7Qz")),
        # What one reader undoes is another one's plain text.
        ("5Abc", "x=5A\\u0062c"),
        ("do\\123", each("do\\123", "%{:02x}")),
    ],
)
def test_a_text_that_shows_a_secret_when_it_is_undone_is_left_out(told: str, echoed: str) -> None:
    assert redact(echoed, [told, "another-one"]) == REDACTED
    assert redact_bytes(echoed.encode(), [told, "another-one"]) == REDACTED.encode()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    ("told", "echoed"),
    [
        ("s3cret-value", '{"got": "s3cret-value"}'),
        ("geheimé", "got geheimé"),
        ("s3cret-value", "got " + b64("s3cret-value")),
        (f"Basic {b64('u:Łódź-ключ')}", "got Łódź-ключ"),
    ],
)
def test_a_body_of_two_bytes_a_letter_that_shows_a_secret_is_left_out(
    encoding: str, told: str, echoed: str
) -> None:
    assert redact_bytes(echoed.encode(encoding), [told]) == REDACTED.encode()
    plain = "nothing of the kind".encode(encoding)
    assert redact_bytes(plain, [told]) == plain


@pytest.mark.parametrize(
    "text",
    [
        "\\" * 60_000,
        "=" * 60_000,
        "&" * 60_000,
        " " * 60_000 + "\n",
        "\\u{" * 20_000,
        "A" * 60_000,
        ("A" * 16 + "\n") * 3_500,
        "5a:" * 20_000,
        "\\r" * 30_000,
        "=\r" * 30_000,
        "=" + "\\" * 60_000,
        "=\\" * 30_000,
        "AAAAAAAAAAAA " * 5_000,
    ],
    ids=lambda text: repr(text[:20]),
)
def test_no_answer_takes_long_to_search(text: str) -> None:
    began = time.thread_time()
    assert redact(text, [BASIC, "two words", LONG, "k7Qz"]) == text
    # A hundred times what it takes, and a hundredth of what anything quadratic would.
    assert time.thread_time() - began < 3


@pytest.mark.parametrize(
    ("answer", "is_aside"),
    [
        (web.Response(text="&#97;" * 100), False),
        (web.Response(text="&#97;" * 10_000), True),
        (web.Response(headers={f"x-{n}": "&#97;" * 100 for n in range(10)}), True),
    ],
    ids=["small", "a large body", "a large head"],
)
async def test_a_large_answer_is_searched_for_secrets_beside_the_loop(
    http: Http, receiver: Receiver, answer: web.Response, is_aside: bool
) -> None:
    class Threads(ThreadPoolExecutor):
        calls = 0

        def submit(self, *given: Any, **named: Any) -> Any:
            self.calls += 1
            return super().submit(*given, **named)

    async def large(request: web.Request) -> web.StreamResponse:
        return answer

    receiver.answer = large
    threads = Threads()
    asyncio.get_running_loop().set_default_executor(threads)
    assert (await record(http, receiver.url))["status_code"] == 200
    assert (threads.calls > 0) == is_aside


def test_headers_are_cut_after_their_secrets_are_left_out() -> None:
    secret = "S3cr3tPlainTokenABCDEF"
    long = "x" * (RECORD_HEADER_CHARS_MAX - len(secret) + 3) + secret
    assert secret[:8] not in shown({"X-Echo": long}.items(), sent_secrets=[secret])["x-echo"]
    many = [("X-A", "x" * 995), ("X-A", "y" * 985), ("X-A", secret)]
    assert secret[:8] not in shown(many, sent_secrets=[secret])["x-a"]


def test_a_secret_is_no_name_of_a_header() -> None:
    made = shown({"X-S3cr3tPlainToken": "1"}.items(), sent_secrets=["S3cr3tPlainToken"])
    assert "s3cr3t" not in str(made).lower()


def test_a_secret_that_is_the_beginning_of_another_leaves_nothing_of_it() -> None:
    assert redact("got abcd-efgh-ijkl end", ["abcd", "abcd-efgh-ijkl"]) == "got [redacted] end"


@pytest.mark.parametrize(
    "text",
    [
        "nothing here",
        "100 % of C:\\users",
        '{"a": "\\u00e9"}',
        "",
        "a=5A \\132 \\u{5a} \\U0000005a \\u{110000} \\UFFFFFFFF \\777",
        "max-age=3600; at 5a:71:6b:7a:00",
        in_lines(b64("nothing of the kind, and that in lines " * 10), 76),
        b64(b64("nothing of the kind")),
        f"&#{'1' * 5_000}; &#{'0' * 5_000}65; &#x{'1' * 5_000};",
    ],
)
def test_what_holds_no_secret_stays_as_it_is(text: str) -> None:
    assert redact(text, [BASIC, "two words", "hunter2"]) == text
    assert redact_bytes(b"\xff\x00" + text.encode(), [BASIC]) == b"\xff\x00" + text.encode()


def test_a_reference_with_many_zeros_shows_what_it_stands_for() -> None:
    echoed = "".join(f"&#{'0' * 5_000}{ord(letter)};" for letter in "hunter2")
    assert redact(echoed, ["hunter2"]) == REDACTED


BEGINNINGS = st.sampled_from(
    ["&#", "&#x", "\\u", "\\u{", "\\U", "\\", "%", "=", "\r\n", "\0", "5a:", ""]
)
ENDS = st.sampled_from(
    [
        "0" * 4_400,
        "9" * 4_400,
        "f" * 4_400,
        "d83d",
        "\\udc00",
        "\u0661",
        "\ud800",
        "hunter2",
        ";",
        "}",
    ]
)
PIECES = st.builds(str.__add__, BEGINNINGS, ENDS)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_whatever_a_receiver_writes_can_be_searched(text: str) -> None:
    assert "hunter2" not in redact(text, [BASIC, "hunter2"])
