"""Mixed load: callers of every kind, each of whom asks, waits until it is done, and asks again.

So the rates say how long the whole way took, not only the door. In a process of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final
from uuid import uuid4

import aiohttp

from benchmarks import child
from benchmarks.limits import (
    MIXED_BATCH,
    MIXED_CALLERS,
    MIXED_SECONDS_MAX,
    MIXED_THINK_SECONDS,
    MIXED_WAIT_SECONDS,
)
from benchmarks.traffic.receiver import RunningReceiver

QUEUE: Final = "load"
BATCHES: Final = "load-batches"  # whose row nobody holds: the other is one of those that are held
WORKFLOW: Final = "load"
DEFINITION: Final = {
    "name": WORKFLOW,
    "steps": [
        {"id": "first", "kind": "noop", "queue": QUEUE},
        {"id": "then", "kind": "noop", "queue": QUEUE, "needs": ["first"]},
    ],
}
ENDED: Final = ("succeeded", "dead", "cancelled", "expired", "skipped", "failed", "timed_out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    address: str  # of the node, http://host:port
    headers: Mapping[str, str]
    receiver: RunningReceiver
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How many of each kind came to their end, and how many did not: refused, cut, or too late."""

    seconds: float
    done: dict[str, int]
    failed: dict[str, int]
    longest_seconds: dict[str, float]
    refusal: str | None  # the first of those that failed; None: none did

    @classmethod
    def of(cls, parts: Sequence[Done]) -> Done:
        """One after the other."""
        return cls(
            seconds=sum(part.seconds for part in parts),
            done={kind: sum(part.done[kind] for part in parts) for kind in KINDS},
            failed={kind: sum(part.failed[kind] for part in parts) for kind in KINDS},
            longest_seconds={
                kind: max(part.longest_seconds.get(kind, 0.0) for part in parts) for kind in KINDS
            },
            refusal=next((part.refusal for part in parts if part.refusal), None),
        )

    def per_second(self, kind: str) -> float:
        return self.done[kind] / self.seconds


async def work(order: Work) -> Done:
    return await child.call(child.python("benchmarks.traffic.mixed"), order, Done)


class Refused(Exception):
    """An answer that is none."""


class Callers:
    """What callers of each kind do, over and over."""

    def __init__(
        self, session: aiohttp.ClientSession, address: str, receiver: RunningReceiver
    ) -> None:
        self._session = session
        self._address = address
        self._receiver = receiver
        # Who was cut off holds theirs until their time is up.
        self._locks = f"load-{uuid4().hex}"

    async def noop(self, _number: int) -> None:
        await self._job({"kind": "noop", "queue": QUEUE})

    async def batch(self, _number: int) -> None:
        jobs = [{"kind": "noop", "queue": BATCHES}] * MIXED_BATCH
        taken = await self.ask("POST", "/v1/jobs/batch", {"jobs": jobs})
        await self._ended(f"/v1/jobs/{taken['ids'][-1]}")

    async def delivery(self, number: int) -> None:
        url = self._receiver.url("mixed", host=1 + number % 4)
        await self._job({"kind": "http", "queue": QUEUE, "input": {"url": url, "json": {}}})

    async def execution(self, _number: int) -> None:
        begun = await self.ask("POST", f"/v1/workflows/{WORKFLOW}/executions", {})
        await self._ended(f"/v1/executions/{begun['id']}")

    async def lock(self, number: int) -> None:
        """Two callers a lock: one waits for the other."""
        path = f"/v1/locks/{self._locks}-{number // 2}"
        wait = {"wait": f"{MIXED_WAIT_SECONDS:g}s", "ttl": "60s"}
        held = await self.ask("POST", path, wait)
        await self.ask("DELETE", f"{path}?token={held['token']}")

    async def signal(self, _number: int) -> None:
        await self.ask("POST", "/v1/signals", {"targets": "all", "name": "ping"})

    async def _job(self, body: Mapping[str, Any]) -> None:
        taken = await self.ask("POST", "/v1/jobs", body)
        await self._ended(f"/v1/jobs/{taken['id']}")

    async def _ended(self, path: str) -> None:
        found = await self.ask("GET", f"{path}?wait={MIXED_WAIT_SECONDS:g}s")
        if found["state"] not in ENDED:
            raise TimeoutError(f"{path} is {found['state']}")

    async def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        async with self._session.request(method, self._address + path, json=body) as answer:
            if answer.status >= 400:
                raise Refused(f"{method} {path}: {answer.status} {(await answer.text())[:500]}")
            return None if answer.status == 204 else await answer.json()


async def work_here(order: Work) -> Done:
    assert 0 < order.seconds <= MIXED_SECONDS_MAX
    done: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    longest: dict[str, float] = {}
    refusals: list[str] = []

    async def go_on(kind: str, call: Callable[[int], Awaitable[None]], number: int) -> None:
        while True:
            began = perf_counter()
            try:
                await call(number)
            except (Refused, aiohttp.ClientError, OSError, TimeoutError) as trouble:
                failed[kind] += 1
                refusals.append(f"{kind}: {trouble!r}")
            else:
                done[kind] += 1
                longest[kind] = max(longest.get(kind, 0.0), perf_counter() - began)
            await asyncio.sleep(MIXED_THINK_SECONDS)

    timeout = aiohttp.ClientTimeout(total=2 * MIXED_WAIT_SECONDS)
    connector = aiohttp.TCPConnector(limit=0)
    began = perf_counter()
    async with aiohttp.ClientSession(
        headers=order.headers, timeout=timeout, connector=connector
    ) as session:
        callers = Callers(session, order.address, order.receiver)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(order.seconds):
                await asyncio.gather(
                    *(
                        go_on(kind, getattr(callers, kind), number)
                        for kind in KINDS
                        for number in range(MIXED_CALLERS)
                    )
                )
    return Done(
        seconds=perf_counter() - began,
        done={kind: done[kind] for kind in KINDS},
        failed={kind: failed[kind] for kind in KINDS},
        longest_seconds=longest,
        refusal=next(iter(refusals), None),
    )


KINDS: Final = ("noop", "batch", "delivery", "execution", "lock", "signal")


if __name__ == "__main__":
    child.answer(Work, work_here)
