"""What an `http` job may ask for; everything else is named at the door."""

from __future__ import annotations

from typing import Any

import pytest

from windlass.limits import HEADERS_MAX
from windlass.strategies.http.http import check_input

URL = "https://shop.example/hook"


def test_everything_at_once_is_fine() -> None:
    assert not check_input(
        {
            "method": "PATCH",
            "url": "https://shop.example:8443/hook?a=b#c",
            "headers": {"Traceparent": "00-x", "x-correlation-id": "c", "USER-AGENT": "me"},
            "json": None,
            "auth": [{"type": "bearer", "secret": "shop"}],
            "connect_timeout": "500ms",
            "first_byte_timeout": 5,
            "callback_timeout": "30d",
            "expect": "status == 200",
            "statuses": {"succeed": [404], "retry": ["4xx"], "fail": []},
            "redirects": 5,
        }
    )


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"odd": 1}, "/odd"),
        ({"method": "TRACE"}, "/method"),
        ({"method": ["GET"]}, "/method"),
        ({"text": 1}, "/text"),
        ({"form": {"a": 1}}, "/form"),
        ({"base64": "?"}, "/base64"),
        ({"base64": "é"}, "/base64"),
        ({"json": 1, "text": "x"}, ""),
        ({"auth": {"type": "magic"}}, "/auth/type"),
        ({"connect_timeout": 0}, "/connect_timeout"),
        ({"first_byte_timeout": "soon"}, "/first_byte_timeout"),
        ({"first_byte_timeout": None}, "/first_byte_timeout"),
        ({"callback_timeout": "31d"}, "/callback_timeout"),
        ({"redirects": 6}, "/redirects"),
        ({"redirects": -1}, "/redirects"),
        ({"redirects": True}, "/redirects"),
        ({"redirects": 1.5}, "/redirects"),
        ({"expect": True}, "/expect"),
        ({"headers": []}, "/headers"),
        ({"headers": {"x": 1}}, "/headers"),
        ({"headers": {f"x-{n}": "" for n in range(HEADERS_MAX + 1)}}, "/headers"),
        ({"headers": {"": "x"}}, "/headers/"),
        ({"headers": {"a b": "x"}}, "/headers/a b"),
        ({"headers": {"x": "a\r\nwebhook-id: b"}}, "/headers/x"),
        ({"headers": {"x\r\n": "a"}}, "/headers/x\r\n"),
        ({"headers": {"x": "y" * 9_000}}, "/headers/x"),
        ({"headers": {"X-A": "1", "x-a": "2"}}, "/headers/x-a"),
        ({"url": "ftp://x"}, "/url"),
        ({"url": "https://"}, "/url"),
        ({"url": "https://u:p@x"}, "/url"),
        ({"url": "https://@x"}, "/url"),
        ({"url": "https://x\r\nhost: y"}, "/url"),
        ({"url": "https://x:99999"}, "/url"),
        ({"url": "https://[x"}, "/url"),
        ({"url": "https://x/" + "y" * 5_000}, "/url"),
        ({"url": ["https://x"]}, "/url"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_its_pointer(
    fields: dict[str, Any], pointer: str
) -> None:
    [(found, detail)] = check_input({"url": URL, **fields})
    assert found == pointer
    assert detail


@pytest.mark.parametrize(
    "name",
    [
        "Webhook-Id",
        "webhook-signature",
        "WEBHOOK-TIMESTAMP",
        "windlass-attempt",
        "Windlass-Anything",
        "Idempotency-Key",
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Accept-Encoding",
        "Expect",
        "Upgrade",
    ],
)
def test_nobody_speaks_in_our_name(name: str) -> None:
    [(pointer, detail)] = check_input({"url": URL, "headers": {name: "x"}})
    assert pointer == f"/headers/{name}"
    assert "Windlass" in detail


@pytest.mark.parametrize(
    "auth",
    [
        {"type": "mtls", "secret": "s"},
        [{"type": "bearer", "secret": "b"}, {"type": "mtls", "secret": "s"}],
    ],
)
def test_a_certificate_is_not_shown_to_what_is_called_in_plain(auth: Any) -> None:
    [(pointer, detail)] = check_input({"url": "HTTP://shop.example/", "auth": auth})
    assert pointer == "/url"
    assert "https://" in detail
    assert not check_input({"url": "https://shop.example/", "auth": auth})
