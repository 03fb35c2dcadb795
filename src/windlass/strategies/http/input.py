"""The input of an `http` job, checked: every problem at once, each with its pointer and the fix."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from windlass.duration import parse_seconds
from windlass.limits import (
    CALLBACK_SECONDS_MAX,
    JSON_DEPTH_MAX,
    REDIRECTS_MAX,
    TIMEOUT_SECONDS_MAX,
    URL_CHARS_MAX,
)
from windlass.model.job.outcome import Failed
from windlass.model.job.target import host_name
from windlass.model.json import strict as strict_json
from windlass.model.json.pointer import step
from windlass.model.json.printable import is_printable
from windlass.model.json.whole import read_whole
from windlass.strategies.http.auth.check import check_auth
from windlass.strategies.http.expect import expectation
from windlass.strategies.http.judge import statuses_problems
from windlass.strategies.http.request import BODIES, body_problems, header_problems
from windlass.strategies.strategy import refused_input

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
DURATIONS: Final = {
    "connect_timeout": TIMEOUT_SECONDS_MAX,
    "first_byte_timeout": TIMEOUT_SECONDS_MAX,
    "callback_timeout": CALLBACK_SECONDS_MAX,
}
FIELDS: Final = (
    *("method", "url", "headers", *BODIES, "auth"),
    *(*DURATIONS, "expect", "statuses", "redirects"),
)
_KNOWN: Final = frozenset(FIELDS)
_USUAL: Final = frozenset(("method", "url", "headers", *BODIES))


def read_input(text: str) -> dict[str, Any] | Failed:
    """The input of a job, checked again: jobs that were enqueued by SQL did not pass the door."""
    try:
        given = msgspec.json.decode(text)
    except (ValueError, RecursionError) as trouble:
        return refused_input([("", f"is not JSON that can be taken: {trouble}")])
    if not isinstance(given, dict):
        return refused_input([("", "must be an object")])
    if strict_json.is_too_deep(text, given):
        return refused_input([("", f"is nested deeper than {JSON_DEPTH_MAX} levels")])
    problems = check_input(given)
    return refused_input(problems) if problems else given


def check_input(value: dict[str, Any]) -> list[tuple[str, str]]:
    problems: list[tuple[str, str]] = []
    if trouble := _url_trouble(value.get("url")):
        problems.append(("/url", trouble))
    if value.get("method", "POST") not in METHODS:
        problems.append(("/method", f"must be one of: {' '.join(METHODS)}"))
    if "headers" in value:
        problems += header_problems(value["headers"])
    problems += body_problems(value)
    if not value.keys() <= _USUAL:  # most deliveries need no more
        problems += _rare_problems(value)
        if _shows_certificate(value.get("auth")) and _is_plain(value.get("url")):
            problems.append(("/url", "must be https://: auth mtls shows a certificate in TLS"))
    return problems


def _rare_problems(value: dict[str, Any]) -> list[tuple[str, str]]:
    unknown = f"unknown field; known are {' '.join(FIELDS)}"
    problems = [(step(name), unknown) for name in value if name not in _KNOWN]
    return problems + [
        (f"/{name}{pointer}", detail)
        for name, check in _RARE.items()
        if name in value
        for pointer, detail in check(name, value[name])
    ]


def _shows_certificate(auth: object) -> bool:
    given = auth if isinstance(auth, list) else [auth]
    return any(isinstance(one, dict) and one.get("type") == "mtls" for one in given)


def _is_plain(url: object) -> bool:
    return isinstance(url, str) and url[:5].lower() == "http:"


def _auth(name: str, value: object) -> list[tuple[str, str]]:
    return check_auth(value)


def _statuses(name: str, value: object) -> list[tuple[str, str]]:
    return statuses_problems(value)


def _expect(name: str, value: object) -> list[tuple[str, str]]:
    if not isinstance(value, str):
        return [("", "must be a CEL expression as text")]
    try:
        expectation(value)
    except ValueError as trouble:
        return [("", str(trouble))]
    return []


def _redirects(name: str, value: object) -> list[tuple[str, str]]:
    try:
        read_whole(value, REDIRECTS_MAX, least=0)
    except ValueError as trouble:
        return [("", str(trouble))]
    return []


def _duration(name: str, value: object) -> list[tuple[str, str]]:
    try:
        if parse_seconds(value, DURATIONS[name]) >= 0.001:
            return []
    except ValueError as trouble:
        return [("", str(trouble))]
    return [("", "must be at least a millisecond")]


_RARE: Final = {
    "auth": _auth,
    "expect": _expect,
    "statuses": _statuses,
    "redirects": _redirects,
    **dict.fromkeys(DURATIONS, _duration),
}


def _url_trouble(url: object) -> str | None:
    if not isinstance(url, str) or not 1 <= len(url) <= URL_CHARS_MAX:
        return f"must be an http or https address of at most {URL_CHARS_MAX} characters"
    return _address_trouble(url)


# A receiver is called again and again: its address is looked at once.
@lru_cache(maxsize=1_000)
def _address_trouble(url: str) -> str | None:
    if not is_printable(url):
        return "must not hold line breaks or other characters that cannot be printed"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as trouble:
        return f"is not an address: {trouble}"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "must start with http:// or https:// and name a host"
    if parts.username is not None or parts.password is not None:
        return "must not hold a user name or password; use a header"
    if parts.port == 0:
        return "names port 0, at which nobody can be called"
    try:
        host_name(parts.hostname)
    except ValueError as trouble:
        return f"is not an address: {trouble}"
    return None
