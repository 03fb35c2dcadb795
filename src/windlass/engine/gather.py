"""Micro-batching: gather single requests into batches, without a timer.

While one batch is on its way to the database, whatever arrives gathers for the
next. An idle node answers one request in one round trip; a busy one commits hundreds at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from windlass.errors import WindlassError
from windlass.supervise import supervisor

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Gather(Generic[Item, Answer]):
    """`put` waits for the batch its item is in; `perform` answers one value or error an item."""

    def __init__(
        self,
        perform: Callable[[list[Item]], Awaitable[list[Answer | Exception]]],
        *,
        batch_max: int,
        in_flight_max: int = 1,
    ) -> None:
        self._perform = perform
        self._batch_max = batch_max
        self._in_flight_max = in_flight_max
        self._waiting: list[tuple[Item, asyncio.Future[Answer]]] = []
        self._runners: set[asyncio.Task[None]] = set()

    async def put(self, item: Item) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if len(self._runners) < self._in_flight_max:
            runner = supervisor().spawn(self._run(), name="gather")
            self._runners.add(runner)
            runner.add_done_callback(self._runners.discard)  # of one that was never begun, too
        try:
            return await future
        finally:
            # An error leads by its trace to this frame, and from here back to itself: without a cut
            # the item would wait for the collector, however large it is.
            del future

    async def _run(self) -> None:
        try:
            while self._waiting:
                batch = self._waiting[: self._batch_max]
                del self._waiting[: self._batch_max]
                self._answer(batch, await self._performed(batch))
        finally:
            # At once: whoever is woken by the last answer may put the next item before the loop
            # calls what waits for the end of this task, and must not count on it.
            runner = asyncio.current_task()
            assert runner is not None, "it is a task"
            self._runners.discard(runner)

    async def _performed(
        self, batch: list[tuple[Item, asyncio.Future[Answer]]]
    ) -> list[Answer | Exception]:
        try:
            answers = await self._perform([item for item, _ in batch])
        except Exception as trouble:  # every caller must hear of it
            return [trouble] * len(batch)
        if len(answers) != len(batch):
            return [RuntimeError(f"{len(answers)} answers to {len(batch)} requests")] * len(batch)
        return answers

    def _answer(
        self,
        batch: list[tuple[Item, asyncio.Future[Answer]]],
        answers: list[Answer | Exception],
    ) -> None:
        for (_, future), answer in zip(batch, answers, strict=True):
            if future.done():
                continue  # the caller went away; its job stands all the same
            if isinstance(answer, WindlassError):
                # Expected: its trace says nothing, and would keep what was asked in memory.
                future.set_exception(answer.with_traceback(None))
            elif isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
