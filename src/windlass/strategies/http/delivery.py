"""One attempt of an `http` job under way: what is sent, by when, and the record of it."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import Any

from windlass.duration import parse_seconds
from windlass.limits import CALLBACK_SECONDS, CONNECT_SECONDS_MAX
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Awaited
from windlass.model.job.target import target_of
from windlass.strategies.http.answer import Answer, Request
from windlass.strategies.http.auth.auth import Prepared
from windlass.strategies.http.net.pool import Timings
from windlass.strategies.http.record import Record
from windlass.strategies.http.request import identity, make_body


class Delivery:
    def __init__(self, attempt: Attempt, given: dict[str, Any]) -> None:
        body, content_type = make_body(given)
        self.given = given
        self.target = target_of(given["url"]) or ""  # whose key signs
        self.request = Request(given.get("method", "POST"), given["url"], body, content_type)
        self.timestamp = int(time.time())
        self.token = secrets.token_hex(20)
        self.identity = identity(attempt, timestamp=self.timestamp, token=self.token)
        self.record = Record(attempt, self.request.method)
        # None: as long as the whole attempt may take, which is seen to from outside.
        self.first_byte_seconds = _seconds(given, "first_byte_timeout")
        self.connect_seconds = _seconds(given, "connect_timeout") or CONNECT_SECONDS_MAX
        self.timings = Timings()

    def headers(self, prepared: Prepared) -> dict[str, str]:
        """Ours, the caller's over them, and last what proves who we are; by lower-case name."""
        made = dict(self.identity)
        if self.request.content_type is not None:
            made["content-type"] = self.request.content_type
        if "headers" in self.given:
            made |= {name.lower(): text for name, text in self.given["headers"].items()}
        made |= {name.lower(): text for name, text in prepared.headers.items()}
        return made

    def follow(self, following: Request, answer: Answer) -> None:
        self.record.redirected(answer.status, following.url, answer.told)
        self.timings = Timings()
        self.request = following

    def awaited(self) -> Awaited:
        return Awaited(
            hashlib.sha256(self.token.encode()).digest(),
            _seconds(self.given, "callback_timeout") or CALLBACK_SECONDS,
        )


def _seconds(given: dict[str, Any], name: str) -> float | None:
    return parse_seconds(given[name]) if name in given else None
