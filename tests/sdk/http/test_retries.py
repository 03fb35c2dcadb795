"""Calls that got no answer are made again, and what they ask for is done once."""

from __future__ import annotations

import threading
from uuid import uuid4

import pytest

from tests.cli.peer import Call, Peer, Says, problem
from tests.ports import free_port
from tests.sdk.conftest import Server
from tests.sdk.http.cutting import cutting
from windlass.errors import QueueFull, Unavailable
from windlass.sdk.http.async_client import AsyncClient
from windlass.sdk.http.problems import ApiError, Unreachable


async def test_a_submission_whose_answer_got_lost_makes_one_job(server: Server) -> None:
    correlation = uuid4().hex
    async with (
        cutting(server.url) as proxy,
        AsyncClient(proxy.url, server.token) as client,
    ):
        proxy.swallow = 2
        job = await client.jobs.submit("noop", correlation_id=correlation)
        proxy.swallow = 1
        batch = await client.jobs.submit_many(
            [{"kind": "noop", "correlation_id": correlation} for _ in range(5)]
        )

        assert proxy.swallowed == 3
        made = {one["id"] async for one in client.jobs.list(correlation_id=correlation)}
        assert made == {job["id"], *(one["id"] for one in batch)}


async def test_a_wait_goes_on_when_its_connection_is_cut(server: Server) -> None:
    async with (
        cutting(server.url) as proxy,
        AsyncClient(proxy.url, server.token) as client,
    ):
        job = await client.jobs.submit("noop", delay=0.5)
        proxy.swallow = 1
        assert (await client.jobs.wait(job["id"], 30))["state"] == "succeeded"
        assert proxy.swallowed == 1


async def test_repetitions_carry_the_same_key_and_other_calls_another(peer: Peer) -> None:
    peer.answer(Says(status=0, hangs_up=True), Says(json={"id": "job_1"}))
    async with AsyncClient(peer.url, "wlk_test") as client:
        await client.jobs.submit("noop")
        await client.jobs.submit("noop")
        await client.jobs.submit("noop", idempotency_key="mine")

    keys = [call.headers["idempotency-key"] for call in peer.calls]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert keys[-1] == "mine"
    assert {call.headers["authorization"] for call in peer.calls} == {"Bearer wlk_test"}
    assert peer.calls[0].json == {"kind": "noop"}


async def test_connections_are_used_again(peer: Peer) -> None:
    async with AsyncClient(peer.url) as client:
        for _ in range(3):
            await client.system.stats()
    assert len({call.connection for call in peer.calls}) == 1


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_server_that_is_too_busy_is_asked_again(peer: Peer, status: int) -> None:
    busy = Says(status=status, raw=b"<html>busy</html>", headers={"Content-Type": "text/html"})
    peer.answer(busy, busy, Says(json={"id": "job_1"}))
    async with AsyncClient(peer.url) as client:
        assert (await client.jobs.submit("noop"))["id"] == "job_1"
    assert len(peer.calls) == 3


async def test_it_gives_up_when_the_server_wants_more_patience_than_it_has(peer: Peer) -> None:
    away = problem(503, code="unavailable", detail="PostgreSQL is away")
    peer.answer(Says(status=503, json=away.json, headers={**away.headers, "Retry-After": "60"}))
    async with AsyncClient(peer.url) as client:
        with pytest.raises(Unavailable):
            await client.jobs.submit("noop")
    assert len(peer.calls) == 1


def full(retry_after: str = "5") -> Says:
    said = problem(429, code="queue_full", detail="full", queue="mail", limit=1, unit="jobs")
    return Says(status=429, json=said.json, headers={**said.headers, "Retry-After": retry_after})


async def test_a_full_queue_is_told_at_once(peer: Peer) -> None:
    peer.answer(full())
    async with AsyncClient(peer.url) as client:
        for submit in (client.jobs.submit("noop"), client.jobs.submit_many([{"kind": "noop"}])):
            with pytest.raises(QueueFull) as refused:
                await submit
            assert (refused.value.queue, refused.value.limit) == ("mail", 1)
    assert len(peer.calls) == 2


async def test_room_in_a_full_queue_is_waited_for_by_whoever_says_so(peer: Peer) -> None:
    peer.answer(full("0"), full("0"), Says(json={"id": "job_1"}))
    async with AsyncClient(peer.url) as client:
        assert (await client.jobs.submit("noop", room_seconds=60))["id"] == "job_1"
    assert len({call.headers["idempotency-key"] for call in peer.calls}) == 1
    assert len(peer.calls) == 3


async def test_who_waits_for_room_looks_once_more_when_its_time_is_over(peer: Peer) -> None:
    peer.answer(full("3600"), Says(json={"id": "job_1"}))
    async with AsyncClient(peer.url) as client:
        assert (await client.jobs.submit("noop", room_seconds=1))["id"] == "job_1"
        peer.answer(full("3600"))
        with pytest.raises(QueueFull):
            await client.jobs.submit("noop", room_seconds=0.3)


async def test_it_gives_up_when_its_patience_is_over(peer: Peer) -> None:
    peer.answer(problem(503, code="unavailable", detail="PostgreSQL is away"))
    async with AsyncClient(peer.url, patience_seconds=6) as client:
        with pytest.raises(Unavailable, match="PostgreSQL is away"):
            await client.jobs.submit("noop")
    assert len(peer.calls) > 1


async def test_a_server_that_is_not_there_is_named() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    async with AsyncClient(url, patience_seconds=0.3) as client:
        with pytest.raises(Unreachable, match=f"cannot reach Windlass at {url}") as refused:
            await client.jobs.submit("noop")
    assert isinstance(refused.value, Unavailable)


async def test_a_server_that_never_answers_is_given_up(peer: Peer) -> None:
    enough = threading.Event()

    def keep_silent(_: Call) -> Says:
        enough.wait()
        return Says(status=0, hangs_up=True)

    peer.answer_by(keep_silent)
    try:
        async with AsyncClient(peer.url, timeout_seconds=0.2, patience_seconds=0) as client:
            with pytest.raises(Unreachable, match=r"no answer within 0\.2 s"):
                await client.system.stats()
    finally:
        enough.set()


async def test_a_change_of_a_node_is_not_repeated(peer: Peer) -> None:
    peer.answer(Says(status=0, hangs_up=True))
    async with AsyncClient(peer.url) as client:
        with pytest.raises(Unreachable):
            await client.nodes.resize("node_1", 4)
    assert len(peer.calls) == 1


async def test_a_redirect_is_not_followed(peer: Peer) -> None:
    peer.answer(Says(status=302, headers={"Location": f"{peer.url}/elsewhere"}))
    async with AsyncClient(peer.url, "wlk_test") as client:
        with pytest.raises(ApiError) as refused:
            await client.system.stats()
    assert (refused.value.status, refused.value.code) == (302, "http_302")
    assert [call.path for call in peer.calls] == ["/v1/stats"]


async def test_an_answer_that_is_not_from_windlass_is_called_that(peer: Peer) -> None:
    peer.answer(Says(raw=b"<html>Welcome</html>", headers={"Content-Type": "text/html"}))
    async with AsyncClient(peer.url) as client:
        with pytest.raises(ApiError, match="no answer of Windlass"):
            await client.system.stats()


async def test_a_change_of_what_was_read_is_asked_for_once(peer: Peer) -> None:
    """Made again, it would be refused for what it did itself."""
    peer.answer(Says(json={"name": "mail"}, headers={"ETag": '"1"'}), Says(status=0, hangs_up=True))
    async with AsyncClient(peer.url) as client:
        queue = await client.queues.get("mail")
        with pytest.raises(Unreachable):
            await client.queues.put("mail", if_match=queue["etag"])
        with pytest.raises(ValueError, match="no ETag"):
            await client.queues.put("mail", if_match='"1"\r\nX-Other: 1')
    assert [call.headers.get("if-match") for call in peer.calls] == [None, '"1"']


async def test_every_change_takes_if_match(peer: Peer) -> None:
    async with AsyncClient(peer.url) as client:
        await client.queues.put("mail", if_match='"1"')
        await client.targets.put("shop.example", if_match='"2"')
        await client.secrets.put("partner", "value", if_match='"3"')
        await client.locks.resize("till", 2, if_match='"4"')
        await client.nodes.resize("node_1", 2, if_match='"5"')
        await client.request("PUT", "/v1/queues/mail", json={}, if_match='"6"')
    assert [call.headers["if-match"] for call in peer.calls] == [f'"{n}"' for n in range(1, 7)]
