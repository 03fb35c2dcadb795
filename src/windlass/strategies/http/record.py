"""The record of a delivery: what people look at afterwards, without what nobody may see.

It fills `attempt.detail` as things happen, so that an attempt that is stopped from outside still
shows how far it came. The address of the request is not in it: query strings hold secrets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from time import perf_counter
from typing import Any, Final
from urllib.parse import urlsplit

from windlass.http1.connection import Fields
from windlass.limits import RECORD_HEADER_CHARS_MAX, RECORD_HEADERS_MAX
from windlass.model.job.attempt import Attempt
from windlass.strategies.http.net.pool import Timings
from windlass.strategies.http.redact import REDACTED, redact

_SECRET: Final = re.compile(
    r"token|secret|key|password|auth|session|cookie|^proxy-|^webhook-signature$"
)
_NOT_SECRET: Final = frozenset({"idempotency-key"})


class Record:
    def __init__(self, attempt: Attempt, method: str) -> None:
        self._began = perf_counter()
        self._timings_ms: dict[str, float] = {}
        self._detail: dict[str, Any] = {"method": method, "timings_ms": self._timings_ms}
        attempt.detail = self._detail

    def sending(self, headers: Mapping[str, str], secret: frozenset[str]) -> None:
        self._detail["request_headers"] = shown(headers.items(), secret)

    def head(self, status: int, fields: Fields) -> None:
        """The first of the answer; the secrets that were sent are not in it any more."""
        self._timings_ms["first_byte"] = self._elapsed_ms()
        self._detail["status_code"] = status
        self._detail["response_headers"] = shown(fields)

    def excerpt(self, text: str) -> None:
        self._detail["response_excerpt"] = text

    def redirected(self, status: int, url: str, sent_secrets: Collection[str]) -> None:
        """`sent_secrets`: those that who sent us there knows from us."""
        path = redact(urlsplit(url).path, sent_secrets)[:RECORD_HEADER_CHARS_MAX]
        self._detail.setdefault("redirects", []).append(f"{status} {path}")

    def over(self, timings: Timings) -> None:
        """However it ended, and if it was stopped."""
        ms = self._timings_ms
        ms["total"] = self._elapsed_ms()
        if timings.dns_ms is not None:
            ms["dns"] = timings.dns_ms
        if timings.connect_ms is not None:
            ms["connect"] = timings.connect_ms
        if timings.tls_ms is not None:
            ms["tls"] = timings.tls_ms
        if timings.address is not None:
            self._detail["address"] = timings.address
        self._detail["is_reused"] = timings.is_reused

    def _elapsed_ms(self) -> float:
        return round((perf_counter() - self._began) * 1000, 3)


def shown(
    lines: Iterable[tuple[str, str]],
    secret: frozenset[str] = frozenset(),
    sent_secrets: Collection[str] = (),
) -> dict[str, str]:
    """Headers fit to be kept, by lower-case name: without secrets, and no more than a page."""
    made: dict[str, str] = {}
    # Before anything is cut: of half a secret nothing would be found.
    for given, text in without_secrets(list(lines), sent_secrets):
        name, is_secret = _known(given)
        if is_secret or name in secret:
            text = _schemes(text) if name == "webhook-signature" else REDACTED
        elif len(text) > RECORD_HEADER_CHARS_MAX:
            text = text[:RECORD_HEADER_CHARS_MAX] + "…"
        if name in made:
            text = f"{made[name]}, {text}"[: 2 * RECORD_HEADER_CHARS_MAX]
        elif len(made) == RECORD_HEADERS_MAX:
            break
        made[name] = text
    return made


def without_secrets(lines: Fields, sent_secrets: Collection[str]) -> Fields:
    """The headers, and neither a name nor a value with a secret."""
    # Between them stands what no header holds and no line ends with.
    whole = "\x1f".join(f"{name}\x1f{text}" for name, text in lines) if sent_secrets else ""
    if redact(whole, sent_secrets) == whole:
        return lines
    return [(redact(name, sent_secrets), redact(text, sent_secrets)) for name, text in lines]


@lru_cache(maxsize=4_096)
def _known(name: str) -> tuple[str, bool]:
    """A header's name in lower case, and whether its value is nobody's business."""
    lower = name.lower()
    return lower, _SECRET.search(lower) is not None and lower not in _NOT_SECRET


def _schemes(signatures: str) -> str:
    """`v1,<signature> v1a,<signature>` without the signatures: which kinds there were."""
    return " ".join(f"{one.partition(',')[0][:8]},{REDACTED}" for one in signatures.split())
