"""From a call of a client to the first line of the task it submits, at a steady pace.

Whoever is measured has two programs, each a process of its own: a worker, and a submitter that is
given an `Order` and answers with `Sent`. A task's first line takes the instant, its second writes
that down with the task's number, one line of a file that all tasks append to (`note`). Both sides
read CLOCK_MONOTONIC, which all processes of a machine share, those of Node included.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import child
from benchmarks.limits import PACE_PER_SECOND
from benchmarks.traffic.pace import Latency, steadily
from benchmarks.until import until


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    path: str  # of the file
    jobs: int
    # A second's worth comes first and is not counted: it opens connections and starts threads.
    warm_up: int = PACE_PER_SECOND
    per_second: int = PACE_PER_SECOND

    @property
    def count(self) -> int:
        return self.warm_up + self.jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    at: list[float]  # of each number, right before its client was called


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitter:
    command: Sequence[str]
    cwd: Path = child.ROOT
    environment: Mapping[str, str] = field(default_factory=dict)


async def measure(submitter: Submitter, jobs: int) -> Latency:
    """How long jobs wait for their start, while a worker works."""
    with TemporaryDirectory() as folder:
        path = _empty_file(folder)
        order = Order(path=str(path), jobs=jobs)
        sent = await child.call(
            submitter.command,
            order,
            Sent,
            cwd=submitter.cwd,
            environment=submitter.environment,
        )

        async def have_all_begun() -> bool:
            return path.read_bytes().count(b"\n") >= order.count

        await until(have_all_begun)
        return latency(order, sent, path.read_text())


def latency(order: Order, sent: Sent, notes: str) -> Latency:
    """Of those that count, provided that each began, and only once."""
    lines = [line.split() for line in notes.splitlines()]
    begun = {int(number): float(at) for number, at in lines}
    assert len(sent.at) == order.count, f"{len(sent.at)} of {order.count} jobs were submitted"
    assert len(lines) == len(begun), f"{len(lines)} starts of {len(begun)} jobs"
    assert begun.keys() == set(range(order.count)), f"{len(begun)} of {order.count} jobs began"
    counted = range(order.warm_up, order.count)
    return Latency.of([begun[number] - sent.at[number] for number in counted])


async def submit_all(order: Order, submit: Callable[[str, int], Awaitable[object]]) -> Sent:
    """The submitter's side: each call at its instant, whatever became of those before."""
    at = [0.0] * order.count

    async def begin(number: int) -> None:
        at[number] = time.monotonic()
        await submit(order.path, number)

    await steadily(begin, order.count, order.per_second)
    return Sent(at=at)


def note(path: str, number: int, at: float) -> None:
    """The task's side."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, f"{number} {at!r}\n".encode())
    finally:
        os.close(file)


def _empty_file(folder: str) -> Path:
    path = Path(folder) / "starts"
    path.touch()
    return path
