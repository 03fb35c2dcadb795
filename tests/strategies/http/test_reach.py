"""Names that lead nowhere, slowly, or where they must not."""

from __future__ import annotations

import errno
import os
import resource
import socket
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.strategies.drawer import Drawer
from tests.strategies.receiver import SOON_SECONDS, Receiver, deliver, perform_within
from windlass import limits
from windlass.model.job.outcome import Failed, Succeeded, TimedOut
from windlass.model.job.target import verdict
from windlass.strategies.http.http import Http
from windlass.strategies.http.net.egress import Egress
from windlass.strategies.http.trouble import explain

Found = Sequence[tuple[Any, Any, Any, Any, tuple[Any, ...]]]


def found(*addresses: str) -> Found:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]


@asynccontextmanager
async def looking_up(lookup: Callable[..., Found], *allow: str) -> AsyncIterator[Http]:
    http = Http(egress=Egress(allow), lookup=lookup, vault=Drawer())
    try:
        yield http
    finally:
        await http.close()


def named(receiver: Receiver, name: str) -> str:
    return receiver.url.replace("127.0.0.1", name)


async def test_a_name_that_does_not_exist_is_a_failure_that_may_pass() -> None:
    def lookup(*_: object, **__: object) -> Found:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async with looking_up(lookup) as http:
        done = await perform_within(http, 5, "http://nowhere.example/")
    assert isinstance(done.outcome, Failed)
    assert (done.outcome.cause, done.outcome.is_final) == ("dns", False)
    assert "nowhere.example" in done.outcome.message
    assert "status_code" not in done.detail


async def test_a_lookup_that_takes_half_a_minute_is_left_at_the_connect_deadline() -> None:
    is_over = threading.Event()

    def lookup(*_: object, **__: object) -> Found:
        is_over.wait(30)
        return found("127.0.0.1")

    async with looking_up(lookup) as http:
        try:
            done = await perform_within(http, 5, "http://slow.example/", connect_timeout=0.2)
            whole = await perform_within(http, 0.2, "http://slow.example/")
        finally:
            is_over.set()
    assert done.outcome == TimedOut(0.2, "a connection")
    assert whole.outcome == TimedOut(0.2)
    assert max(done.took_seconds, whole.took_seconds) < SOON_SECONDS


@pytest.mark.parametrize("allow", [(), ("10.0.0.0/8",), ("other.example",)])
@pytest.mark.parametrize(
    "answer", [("127.0.0.1",), ("93.184.216.34", "127.0.0.1")], ids=["alone", "among others"]
)
async def test_a_name_that_leads_inwards_is_refused_for_good_and_nothing_arrives(
    receiver: Receiver, allow: tuple[str, ...], answer: tuple[str, ...]
) -> None:
    async with looking_up(lambda *_, **__: found(*answer), *allow) as http:
        outcome = await deliver(http, named(receiver, "innocent.example"))
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("egress_refused", True)
    assert "innocent.example" in outcome.message
    assert "EGRESS_ALLOW" in outcome.message
    assert receiver.seen == []


async def test_an_address_is_judged_though_there_is_nothing_to_look_up(receiver: Receiver) -> None:
    async with looking_up(lambda *_, **__: found()) as http:
        done = await perform_within(http, 5, receiver.url)
    assert isinstance(done.outcome, Failed)
    assert (done.outcome.cause, done.outcome.is_final) == ("egress_refused", True)
    assert receiver.seen == []
    assert done.detail["request_headers"]["webhook-id"].startswith("job_")


async def test_a_name_that_turns_inwards_between_two_deliveries_is_refused_then(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "DNS_NAMES_KEPT_MAX", 0)  # no answer is kept for the next one
    answers = iter([found("127.0.0.1"), found("127.0.0.2")])
    receiver.will(200, "hello", connection="close")
    async with looking_up(lambda *_, **__: next(answers), "127.0.0.1") as http:
        url = named(receiver, "turncoat.example")
        assert isinstance(await deliver(http, url), Succeeded)
        outcome = await deliver(http, url)
    assert isinstance(outcome, Failed)
    assert outcome.cause == "egress_refused"
    assert len(receiver.seen) == 1


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.EMFILE, "out of sockets"),
        (errno.ENFILE, "out of sockets"),
        (errno.ENOBUFS, "out of sockets"),
        (errno.EADDRNOTAVAIL, "out of sockets"),
        (errno.ENETUNREACH, "no route"),
        (errno.ENETDOWN, "no route"),
    ],
)
def test_what_this_node_lacks_is_not_held_against_the_target(number: int, cause: str) -> None:
    failed = explain(OSError(number, os.strerror(number)))
    assert failed.cause == cause
    assert verdict(failed, None) == "neutral"


async def test_a_lookup_that_got_no_socket_says_nothing_of_the_name() -> None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)

    def lookup(*_: object, **__: object) -> Found:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limit[1]))  # as if all were in use
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    async with looking_up(lookup) as http:
        try:
            done = await perform_within(http, 5, "http://shop.example/")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    assert isinstance(done.outcome, Failed)
    assert done.outcome.cause == "out of sockets"


async def test_a_delivery_that_got_no_socket_is_not_held_against_the_target(
    receiver: Receiver,
) -> None:
    async with looking_up(lambda *_, **__: [], "127.0.0.0/8") as http:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limit[1]))
        try:
            done = await perform_within(http, 5, receiver.url)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    assert isinstance(done.outcome, Failed)
    assert (done.outcome.cause, done.outcome.is_final) == ("out of sockets", False)
    assert receiver.seen == []
