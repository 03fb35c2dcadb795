"""Large bodies: read apart from the loop, bounded, and judged like any other."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import aiohttp
import psutil
import pytest

from tests.api.conftest import Serve
from tests.api.http.raw import statuses, wire
from tests.api.served import Served
from tests.until import until
from windlass.api.app import build_app
from windlass.api.http.body import is_heavy
from windlass.api.http.body_budget import BodiesFull, BodyBudget
from windlass.api.http.door import Door
from windlass.config import Settings
from windlass.limits import BODY_BYTES_MAX

BATCH = "/v1/jobs/batch"
LARGE = "a" * 600_000
READER = "windlass.api.jobs.batch_process"


def large(**more: Any) -> list[dict[str, Any]]:
    """Jobs that together are more than is read here."""
    return [{"kind": "noop", "input": {"text": LARGE}, **more} for _ in range(8)]


async def post(api: Served, path: str, value: Any, status: int, **headers: str) -> Any:
    """The same for bodies of which aiohttp would rather not send the bytes."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    given = {"Content-Type": "application/json", **headers}
    return await api.post(path, status=status, data=io.BytesIO(body), headers=given)


async def test_a_large_batch_is_taken_like_a_small_one(api: Served) -> None:
    jobs = [
        *large(queue="big", tags=["x"], timeout="30s", retry={"max_attempts": 3}, locks=["l"]),
        {"kind": "noop", "depends_on": ["#0", "#1"], "on_parent_failure": "run"},
        {"kind": "http", "input": {"url": "https://shop.example/hook"}, "priority": "high"},
        {"kind": "wait", "input": {"seconds": 5}, "delay": "1h"},
    ]
    body = json.dumps({"jobs": jobs}).encode()
    assert len(body) > BODY_BYTES_MAX
    key = {"Idempotency-Key": "large"}
    made = await post(api, BATCH, body, 201, **key)
    again = await post(api, BATCH, body, 200, **key)
    assert again == made
    assert len(made["ids"]) == len(jobs)
    first, waiting, call = [await api.get(f"/v1/jobs/{made['ids'][n]}") for n in (0, 8, 9)]
    assert (first["queue"], first["tags"], first["max_attempts"]) == ("big", ["x"], 3)
    assert first["input"] == {"text": LARGE}
    assert waiting["state"] == "blocked"
    assert waiting["depends_on"] == made["ids"][:2]
    assert call["priority"] == "high"
    other = body.replace(b'"big"', b'"bog"')
    await post(api, BATCH, other, 422, **key)


async def test_a_large_batch_in_pieces_without_a_length_is_taken(api: Served) -> None:
    body = json.dumps({"jobs": large()}).encode()

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 100_000):
            yield body[start : start + 100_000]

    headers = {"Content-Type": "application/json"}
    made = await api.post(BATCH, status=201, data=pieces(), headers=headers)
    assert len(made["ids"]) == 8


async def test_who_reads_large_bodies_is_not_given_what_the_node_keeps_secret(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WINDLASS_SECRET_KEY", "WINDLASS_DATABASE_URL", "SHOP_TOKEN"):
        monkeypatch.setenv(name, "canary-in-the-environment")
    before = set(psutil.Process().children())
    await post(api, BATCH, {"jobs": large()}, 201)
    [reader] = [one for one in set(psutil.Process().children()) - before if READER in one.cmdline()]
    assert reader.environ()["PATH"] == os.environ["PATH"]
    assert "canary-in-the-environment" not in reader.environ().values()


async def test_what_is_wrong_in_a_large_batch_is_told_by_its_place(api: Served) -> None:
    jobs = large()
    jobs[3] = {"kind": "noop", "priority": "urgent", "dealy": 3}
    jobs[7]["depends_on"] = ["#99"]
    found = await post(api, BATCH, {"jobs": jobs}, 422)
    assert [e["pointer"] for e in found["errors"]] == ["/jobs/3/priority", "/jobs/3/dealy"]
    jobs[3] = {"kind": "noop"}
    found = await post(api, BATCH, {"jobs": [*jobs, *large()]}, 422)
    assert [e["pointer"] for e in found["errors"]] == ["/jobs/7/depends_on"]
    body = json.dumps({"jobs": [*large(), *large()]}).encode() + b"x"
    found = await post(api, BATCH, body, 400)
    assert found["code"] == "malformed_body"
    assert (await api.get("/v1/jobs"))["data"] == []


async def test_one_job_of_very_many_values_is_read_apart(api: Served) -> None:
    job = {"kind": "noop", "input": {"numbers": [0] * 400_000}}
    assert is_heavy(json.dumps(job).encode())
    made = await post(api, "/v1/jobs", job, 201)
    assert (await api.get(f"/v1/jobs/{made['id']}"))["input"] == job["input"]
    found = await post(api, "/v1/jobs", {**job, "priority": "urgent"}, 422)
    assert [e["pointer"] for e in found["errors"]] == ["/priority"]


async def test_kinds_that_only_the_node_knows_are_checked_by_it(serve_with: Serve) -> None:
    api = await serve_with(Settings(auth="off"))

    def check(given: dict[str, Any]) -> list[tuple[str, str]]:
        return [] if "good" in given else [("/good", "must be there")]

    parts = replace(api.parts, kinds={**api.parts.kinds, "own": check})
    api.serving.front.app = build_app(parts)
    jobs = [*large(), {"kind": "own", "input": {"good": 1}}]
    await post(api, BATCH, {"jobs": jobs}, 201)
    found = await post(api, BATCH, {"jobs": [*jobs, {"kind": "own", "input": {}}]}, 422)
    assert [e["pointer"] for e in found["errors"]] == ["/jobs/9/input/good"]


HOSTILE = {
    "empty lists": b'{"jobs":[{"kind":"noop","input":{"a":[' + b"[]," * 21_000_000 + b"[]]}}]}",
    "numbers": b'{"jobs":[' + b"0," * 33_000_000 + b"0]}",
    "empty objects": b'{"jobs":[' + b"{}," * 22_000_000 + b"{}]}",
    "one text": b'{"jobs":["' + b"a" * 67_000_000 + b'"]}',
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_batch_keeps_nobody_waiting_and_takes_no_memory(
    api: Served, name: str
) -> None:
    headers = {"Content-Type": "application/json"}
    process = psutil.Process()
    before, most = process.memory_info().rss, 0
    longest, asked = 0.0, 0
    loop = asyncio.get_running_loop()
    sending = asyncio.create_task(_status(api, HOSTILE[name], headers))
    while not sending.done():
        started = loop.time()
        await api.get("/health/live")
        longest, asked = max(longest, loop.time() - started), asked + 1
        most = max(most, process.memory_info().rss)
        await asyncio.sleep(0.01)
    assert await sending in (400, 422)
    assert asked > 5
    # Before, the loop stood still for ten seconds and the process grew by 1.8 GB.
    assert longest < 5, "a very busy machine's pauses included"
    assert most - before < 300_000_000


async def _status(api: Served, body: bytes, headers: dict[str, str]) -> int:
    # In pieces: this process is the client too, and would copy it whole.
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 65536):
            yield body[start : start + 65536]

    given: dict[str, Any] = {"data": pieces(), "headers": headers}
    async with api.client.post(api.url + BATCH, **given) as answer:
        await answer.read()
        return answer.status


async def test_a_reader_that_dies_is_followed_by_another(api: Served) -> None:
    await post(api, BATCH, {"jobs": large()}, 201)
    [reader] = api.parts.readers._idle
    reader.kill()
    await reader.wait()
    await post(api, BATCH, {"jobs": large()}, 201)
    [another] = api.parts.readers._idle
    assert another.pid != reader.pid
    await post(api, BATCH, {"jobs": large()}, 201)
    assert [kept.pid for kept in api.parts.readers._idle] == [another.pid], "it is kept"


async def test_one_large_body_always_goes_on_and_the_next_follows_it() -> None:
    room = BodyBudget(10)
    first, second, third = room.holding(), room.holding(), room.holding()
    await first.grow(50)
    await second.grow(6)
    waiting = [asyncio.create_task(second.grow(40)), asyncio.create_task(third.grow(4))]
    await asyncio.sleep(0)
    await first.grow(60)
    await asyncio.sleep(0)
    assert not any(one.done() for one in waiting), "they wait"
    first.end()
    await asyncio.gather(*waiting)
    assert (second.size, third.size) == (40, 4), "now it is the first"
    second.end()
    third.end()
    await room.holding().grow(100)
    await room.holding().grow(10)


async def test_who_waits_too_long_for_room_is_told_and_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("windlass.api.http.body_budget.LARGE_BODIES_WAIT_SECONDS", 0.05)
    room = BodyBudget(10)
    first, second, third = room.holding(), room.holding(), room.holding()
    await first.grow(1)
    await second.grow(6)
    with pytest.raises(BodiesFull):
        await third.grow(5)
    await third.grow(4)
    monkeypatch.setattr("windlass.api.http.body_budget.LARGE_BODIES_WAIT_SECONDS", 30.0)
    waiting = [asyncio.create_task(room.holding().grow(size)) for size in (8, 1)]
    await asyncio.sleep(0)
    third.end()
    await asyncio.sleep(0)
    assert not any(one.done() for one in waiting), "the first waiter is not passed by"
    waiting[0].cancel()
    await asyncio.wait(waiting)
    assert waiting[1].exception() is None


async def test_where_enough_large_bodies_are_in_hand_another_is_told_to_come_back(
    serve_with: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windlass.api.http.body_budget.LARGE_BODIES_WAIT_SECONDS", 0.2)
    monkeypatch.setattr("windlass.api.http.door.LARGE_BODIES_BYTES_MAX", 1_000_000)
    api = await serve_with(Settings(auth="off"))
    body = {"kind": "noop", "input": {"text": LARGE}}
    await post(api, "/v1/jobs", body, 201)
    begun = asyncio.Event()
    enough = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        text = json.dumps(body).encode()
        yield text[:-1]
        begun.set()
        await enough.wait()
        yield text[-1:]

    headers = {"Content-Type": "application/json"}
    slow = asyncio.create_task(api.post("/v1/jobs", status=201, data=slowly(), headers=headers))
    await begun.wait()
    await _has_a_first(api)
    async with aiohttp.ClientSession() as client:
        data = io.BytesIO(json.dumps({"jobs": [body] * 3}).encode())
        async with client.post(api.url + BATCH, data=data, headers=headers) as answer:
            assert answer.status == 503
            assert answer.headers["Retry-After"] == "2"
            assert (await answer.json(content_type=None))["code"] == "bodies_full"
    await post(api, "/v1/jobs", body, 201)
    enough.set()
    await slow


async def _has_a_first(api: Served) -> None:
    door = api.serving.front.app
    assert isinstance(door, Door)
    await until(lambda: door._room._first is not None, within_seconds=30)


async def test_who_has_no_key_takes_no_room_of_those_who_have_one(api: Served) -> None:
    """A completion shows its token in its body, so the body of anybody is read."""
    refused, size = 0, 2_000_000
    head = (
        f"POST /v1/jobs/job_{'0' * 32}/complete HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    ).encode()
    async with AsyncExitStack() as open_:
        strangers = [await open_.enter_async_context(wire(api.url)) for _ in range(12)]
        async with asyncio.TaskGroup() as tasks:
            for one in strangers:
                tasks.create_task(one.send(head + b" " * (size - 1)))
            answers = {asyncio.create_task(one.answer()) for one in strangers}
            waiting = answers
            while refused < 8:  # as many as find no room; the others hold theirs
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                refused += sum(statuses(one.result()) == [503] for one in done)
            await post(api, "/v1/jobs", {"kind": "noop", "input": {"text": LARGE}}, 201)
        for answer in answers:
            answer.cancel()


def test_what_reads_large_bodies_has_nothing_in_memory_that_only_deliveries_need() -> None:
    script = "import sys, windlass.api.jobs.batch_process; print(*sys.modules)"
    command = [sys.executable, "-c", script]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {"aiohttp", "cryptography", "starlette", "asyncpg"}.isdisjoint(said.stdout.split())
