"""`http`: deliver one webhook and judge the answer (docs/webhooks.md).

    input -> body, made once -> credentials over those bytes -> request -> capped answer -> verdict

Bounded in time (connect, first byte, and the attempt's timeout over everything, which comes from
outside), in size (an answer is read raw up to a cap), and in reach (the egress guard judges every
connect). What happens is kept in `attempt.detail` as it happens, by the `Delivery` under way.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, TypeVar

from windlass.duration import parse_seconds
from windlass.http1.connection import Connection
from windlass.limits import (
    CALLBACK_SECONDS,
    CONNECT_SECONDS_MAX,
    IDLE_CONNECTIONS_MAX,
    REDACT_QUICK_BYTES_MAX,
)
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Awaited, Failed, Outcome, Succeeded, TimedOut
from windlass.model.job.target import target_of
from windlass.strategies.http.answer import (
    Answer,
    Request,
    first_by_name,
    next_hop,
    redirect_host,
)
from windlass.strategies.http.auth.auth import AuthFailed, Credentials, Prepared
from windlass.strategies.http.auth.secrets import (
    NoVault,
    SecretNotForHost,
    SecretUnavailable,
    SigningUnavailable,
    Vault,
)
from windlass.strategies.http.input import check_input, read_input
from windlass.strategies.http.judge import is_deferred, judge_answer
from windlass.strategies.http.net.address import read_address
from windlass.strategies.http.net.egress import Egress
from windlass.strategies.http.net.pool import Pool, Timings
from windlass.strategies.http.net.resolver import Lookup
from windlass.strategies.http.record import Record, without_secrets
from windlass.strategies.http.redact import redact, redact_bytes
from windlass.strategies.http.request import identity, make_body, write_request
from windlass.strategies.http.trouble import explain

__all__ = ["Http", "check_input"]

_NO_VAULT: Final = NoVault()
_Kept = TypeVar("_Kept")


class Http:
    """One pool for all deliveries and their tokens: connections are kept and reused."""

    def __init__(
        self,
        *,
        egress: Egress,
        vault: Vault = _NO_VAULT,
        lookup: Lookup = socket.getaddrinfo,
        is_signing: bool = True,
    ) -> None:
        self._egress = egress
        self._lookup = lookup
        self._idle_max = IDLE_CONNECTIONS_MAX
        self._credentials = Credentials(vault, lambda: self._wires, is_signing=is_signing)

    async def perform(self, attempt: Attempt) -> Outcome:
        given = read_input(attempt.input)
        if isinstance(given, Failed):
            return given
        delivery = Delivery(attempt, given)
        if attempt.target != delivery.target:
            # Its limits, and whether it is disabled at all, were asked under another name or none.
            accepted = attempt.target or "no target"
            said = f"was accepted for {accepted}, and its address names {delivery.target}"
            return Failed("target", f"it {said}; submit it again", is_final=True)
        try:
            answer = await self._deliver(delivery)
        except SecretUnavailable as trouble:
            return Failed("secret", str(trouble))
        except SigningUnavailable as trouble:
            return Failed(trouble.code, str(trouble))
        except SecretNotForHost as trouble:
            return Failed(trouble.code, str(trouble), trouble.facts, is_final=True)
        except AuthFailed as trouble:
            return Failed("auth", str(trouble))
        except _Late as late:
            return TimedOut(late.after_seconds, late.waited_for)
        except (OSError, ValueError) as trouble:
            return explain(trouble)
        outcome = await judge_answer(answer, given, redirect_host(delivery.request, answer))
        if isinstance(outcome, Succeeded) and is_deferred(answer):
            return delivery.awaited()
        return outcome

    async def _deliver(self, delivery: Delivery) -> Answer:
        """The last answer of a delivery, redirects followed where they may be."""
        hops_left = delivery.given.get("redirects", 0)
        try:
            while True:
                answer = await self._exchange(delivery)
                following = next_hop(delivery.request, answer) if hops_left else None
                if following is None:
                    return answer
                hops_left -= 1
                delivery.follow(following, answer)
        finally:
            delivery.record.over(delivery.timings)

    async def _exchange(self, delivery: Delivery) -> Answer:
        """One request and its answer."""
        auth = delivery.given.get("auth")
        prepared = await self._credentials.prepare(
            auth,
            target=delivery.target,
            webhook_id=delivery.identity["webhook-id"],
            timestamp=delivery.timestamp,
            body=delivery.request.body or b"",
        )
        sent_secrets = (
            delivery.token,
            *(prepared.headers[name] for name in prepared.secret_headers),
        )
        wire = await self._send(delivery, prepared)
        try:
            received = wire.fields
            head_bytes = sum(len(name) + len(text) for name, text in received)
            fields = await _aside(head_bytes, without_secrets, received, sent_secrets)
            delivery.record.head(wire.status, fields)
            body = await wire.body()
            body = await _aside(len(body), redact_bytes, body, sent_secrets)
            answer = Answer(wire, fields, body)
            answer.reason = redact(answer.reason or "", sent_secrets)
            answer.location = first_by_name(received).get("location", "")
            answer.sent_secrets = sent_secrets
        finally:
            self._wires.give(wire)
        delivery.record.excerpt(answer.excerpt)
        if answer.status == 401 and auth is not None:
            await self._credentials.refused(auth, prepared)
        return answer

    async def _send(self, delivery: Delivery, prepared: Prepared) -> Connection:
        """The connection on which the head of an answer has come. Raises _Late, and OSError."""
        headers = delivery.headers(prepared)
        delivery.record.sending(headers, prepared.secret_headers)
        seconds = delivery.first_byte_seconds
        if seconds is None:
            return await self._ask(delivery, headers, prepared)
        first_byte = asyncio.timeout(seconds)
        try:
            async with first_byte:
                return await self._ask(delivery, headers, prepared)
        except TimeoutError:
            if first_byte.expired():
                raise _Late(seconds, "the first byte") from None
            raise

    async def _ask(
        self, delivery: Delivery, headers: Mapping[str, str], prepared: Prepared
    ) -> Connection:
        method, url, body, _ = delivery.request
        address = read_address(url)
        message = write_request(method, address, headers, body)
        try:
            wire = await self._wires.take(
                address,
                context=prepared.ssl,
                connect_seconds=delivery.connect_seconds,
                timings=delivery.timings,
            )
        except TimeoutError:
            raise _Late(delivery.connect_seconds, "a connection") from None
        try:
            await wire.ask(message, is_head=method == "HEAD")
        except BaseException:
            self._wires.give(wire)
            raise
        return wire

    @cached_property
    def _wires(self) -> Pool:
        return Pool(self._egress, self._lookup, idle_max=self._idle_max)

    def resize(self, workers: int) -> None:
        self._idle_max = min(workers + 1, IDLE_CONNECTIONS_MAX)
        if "_wires" in self.__dict__:  # made at the first delivery
            self._wires.resize(self._idle_max)

    async def close(self) -> None:
        await self._credentials.close()
        await self._wires.close()


async def _aside(size: int, work: Callable[..., _Kept], *given: Any) -> _Kept:
    """In a thread, where a receiver could hold up the loop by what it answers."""
    if size <= REDACT_QUICK_BYTES_MAX:
        return work(*given)
    return await asyncio.to_thread(work, *given)


class _Late(Exception):
    def __init__(self, after_seconds: float, waited_for: str) -> None:
        self.after_seconds, self.waited_for = after_seconds, waited_for


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
        self.record.redirected(answer.status, following.url, answer.sent_secrets)
        self.timings = Timings()
        self.request = following

    def awaited(self) -> Awaited:
        return Awaited(
            hashlib.sha256(self.token.encode()).digest(),
            _seconds(self.given, "callback_timeout") or CALLBACK_SECONDS,
        )


def _seconds(given: dict[str, Any], name: str) -> float | None:
    return parse_seconds(given[name]) if name in given else None
