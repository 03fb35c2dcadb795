"""What it costs to know who calls: the same GET with a key, with a session's cookie, and where
authentication is off.

Two nodes on the same servers, one with authentication and one without, are asked in turns, request
by request, on connections that stay open: whatever slows the machine slows all of them. What is
read is the difference of the medians.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from statistics import median
from time import perf_counter

from benchmarks.limits import AUTH_ADDED_MS_MAX, AUTH_REQUESTS, AUTH_WARM_REQUESTS
from benchmarks.measure import Figure, Spread
from benchmarks.node import RunningNode, running
from benchmarks.stage import Stage
from benchmarks.traffic.load import host_and_port

PATH = "/v1/session"
USER, PASSWORD = "bench", "three small green boats"
OFF, KEY, COOKIE = "AUTH=off", "a key", "a session's cookie"


@dataclass(frozen=True, slots=True, kw_only=True)
class Medians:
    """Of the time an answer takes, in milliseconds, by who asks."""

    ms: Mapping[str, float]

    def added(self, who: str) -> float:
        return self.ms[who] - self.ms[OFF]

    def __str__(self) -> str:
        return ", ".join(f"{who} {ms:.3f} ms" for who, ms in self.ms.items())


async def figures(stage: Stage) -> list[Figure]:
    rounds = await stage.repeat("auth", lambda: _measure(stage), str)
    found = []
    for who in (KEY, COOKIE):
        added = [one.added(who) for one in rounds]
        found.append(
            Figure(
                name=f"GET with {who}: added to p50",
                value=median(added),
                unit="ms",
                spread=Spread.of(added),
                at_most=AUTH_ADDED_MS_MAX,
            )
        )
    return found


async def _measure(stage: Stage) -> Medians:
    async with (
        stage.database() as dsn,
        running(dsn, stage.redis_url, roles="api") as on,
        running(dsn, stage.redis_url, roles="api", settings={"WINDLASS_AUTH": "off"}) as off,
    ):
        return await asyncio.to_thread(_ask, on, off)


def _ask(on: RunningNode, off: RunningNode) -> Medians:
    made = {"name": USER, "role": "operator", "password": PASSWORD}
    _call(on, "POST", "/v1/users", on.headers, made)
    cookie = _call(on, "POST", PATH, {}, {"user": USER, "password": PASSWORD}).partition(";")[0]
    asked = {
        OFF: (_open(off), {}),
        KEY: (_open(on), on.headers),
        COOKIE: (_open(on), {"Cookie": cookie}),
    }
    taken: dict[str, list[float]] = {who: [] for who in asked}
    for number in range(AUTH_WARM_REQUESTS + AUTH_REQUESTS):
        for who, (connection, headers) in asked.items():
            began = perf_counter()
            connection.request("GET", PATH, headers=headers)
            answer = connection.getresponse()
            answer.read()
            seconds = perf_counter() - began
            assert answer.status == 200, f"{who}: {answer.status}"
            if number >= AUTH_WARM_REQUESTS:
                taken[who].append(seconds)
    return Medians(ms={who: median(each) * 1_000 for who, each in taken.items()})


def _open(node: RunningNode) -> HTTPConnection:
    return HTTPConnection(*host_and_port(node.address), timeout=30)


def _call(
    node: RunningNode, method: str, path: str, headers: Mapping[str, str], body: object
) -> str:
    """The cookie that is set, if any."""
    connection = _open(node)
    kind = {"Content-Type": "application/json"}
    connection.request(method, path, json.dumps(body), {**headers, **kind})
    answer = connection.getresponse()
    said = answer.read()
    assert answer.status == 201, f"{path}: {answer.status} {said!r}"
    return answer.headers.get("set-cookie", "")
