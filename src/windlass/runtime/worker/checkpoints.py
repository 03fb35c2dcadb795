"""Checkpoints of the durable functions that run on this node, written many at a time.

The functions run on the users' loop, the database is on the node's. What they ask is laid down in
one line; the node's loop is woken once for as much as has gathered, and while one batch is on its
way the next gathers (group commit). Their answers go back in one turn, too:

    users' loop    keep(1) keep(2) keep(3) ..> one wake-up
    node's loop                                 one statement, one commit  ..> one wake-up
    users' loop                                                                1, 2 and 3 go on

Promises: what was answered is committed. While PostgreSQL is away they wait, until somebody stops
them.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import structlog

from windlass.engine.executions.checkpoint_waits import listen
from windlass.engine.executions.checkpoints import CheckpointWrite, Fence, keep_many, load_many
from windlass.errors import Cancelled, Unavailable
from windlass.limits import (
    CHECKPOINT_AGAIN_SECONDS,
    CHECKPOINT_AGAIN_SECONDS_MAX,
    CHECKPOINT_BATCH_MAX,
    LISTENS_AT_ONCE,
)
from windlass.model.job.attempt import Attempt
from windlass.model.job.checkpoint import Checkpoint, Note
from windlass.store.database import Database
from windlass.supervise import supervisor

log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class _Ask:
    """What a function waits for, with the loop on which it does."""

    fence: Fence
    note: Note | None  # None: it asks for all that was done
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    is_listening: bool = False


class Checkpoints:
    """One for the node; `of` gives each attempt its own view of it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._loop = asyncio.get_running_loop()
        self._asked: deque[_Ask] = deque()
        self._is_told = False  # the node's loop knows that there is something
        self._working: asyncio.Task[None] | None = None
        self._listening: set[asyncio.Task[None]] = set()
        self._listens = asyncio.Semaphore(LISTENS_AT_ONCE)

    def of(self, attempt: Attempt) -> JobCheckpoints:
        fence = Fence(
            job_id=attempt.job_id,
            attempt=attempt.number,
            claim_id=attempt.claim_id,
            execution_id=attempt.execution_id,
        )
        return JobCheckpoints(self, fence)

    def put(self, ask: _Ask) -> None:
        """From any thread."""
        self._asked.append(ask)
        # In this order: who finds that the loop was told has left its wish before the loop takes
        # that back, and so before it looks.
        if not self._is_told:
            self._is_told = True
            self._loop.call_soon_threadsafe(self._hear)

    def _hear(self) -> None:
        self._is_told = False
        if self._working is None:
            self._working = supervisor().spawn(self._work(), name="checkpoints")

    async def _work(self) -> None:
        try:
            while self._asked:
                count = min(len(self._asked), CHECKPOINT_BATCH_MAX)
                await self._serve([self._asked.popleft() for _ in range(count)])
        finally:
            self._working = None

    async def _serve(self, batch: list[_Ask]) -> None:
        keeps = [ask for ask in batch if ask.note is not None and not ask.is_listening]
        loads = [ask for ask in batch if ask.note is None]
        for ask in batch:
            if ask.is_listening:  # each takes a transaction, and nobody else waits for it
                task = supervisor().spawn(self._answer([ask], self._listen), name="checkpoint")
                self._listening.add(task)
                task.add_done_callback(self._listening.discard)
        if keeps:
            await self._answer(keeps, self._keep)
        if loads:
            await self._answer(loads, self._load)

    async def _answer(
        self, asks: list[_Ask], serve: Callable[[list[_Ask]], Awaitable[list[Any]]]
    ) -> None:
        rest = CHECKPOINT_AGAIN_SECONDS
        while asks := [ask for ask in asks if not ask.future.done()]:
            try:
                _tell(asks, await serve(asks))
            except Unavailable as trouble:
                log.warning("checkpoints_wait", count=len(asks), reason=str(trouble))
                await asyncio.sleep(rest)
                rest = min(rest * 2, CHECKPOINT_AGAIN_SECONDS_MAX)
            except Exception as trouble:
                if len(asks) == 1:
                    _tell(asks, [trouble])  # its function must hear of it
                    return
                for ask in asks:  # one that fails fails no other
                    await self._answer([ask], serve)
            else:
                return

    async def _keep(self, asks: list[_Ask]) -> list[Any]:
        batch = [CheckpointWrite(ask.fence, ask.note) for ask in asks if ask.note is not None]
        return [_or_cancelled(found) for found in await keep_many(self._database, batch)]

    async def _load(self, asks: list[_Ask]) -> list[Any]:
        found = await load_many(self._database, [ask.fence.job_id for ask in asks])
        return [found[ask.fence.job_id] for ask in asks]

    async def _listen(self, asks: list[_Ask]) -> list[Any]:
        (ask,) = asks
        assert ask.note is not None
        async with self._listens:  # however many wait for executions that somebody holds
            return [_or_cancelled(await listen(self._database, ask.fence, ask.note))]


class JobCheckpoints:
    """What one attempt asks of them, from the loop on which its function runs."""

    __slots__ = ("_fence", "_node")

    def __init__(self, node: Checkpoints, fence: Fence) -> None:
        self._node, self._fence = node, fence

    def load(self) -> Awaitable[list[Checkpoint]]:
        return self._ask(None)

    def keep(self, note: Note) -> Awaitable[Checkpoint]:
        return self._ask(note)

    def listen(self, note: Note) -> Awaitable[Checkpoint]:
        return self._ask(note, is_listening=True)

    def _ask(self, note: Note | None, *, is_listening: bool = False) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        ask = _Ask(self._fence, note, loop, loop.create_future(), is_listening)
        self._node.put(ask)
        return ask.future


def _or_cancelled(found: Checkpoint | Exception | None) -> Checkpoint | Exception:
    return found if found is not None else Cancelled("another attempt has taken over")


def _tell(asks: list[_Ask], answers: list[Any]) -> None:
    """Each loop is woken once."""
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]]
    by_loop = defaultdict(list)
    for ask, answer in zip(asks, answers, strict=True):
        by_loop[ask.loop].append((ask.future, answer))
    for loop, told in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, told)
        except RuntimeError:
            pass  # given up meanwhile: nobody waits there any more


def _resolve(told: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, answer in told:
        if future.done():
            continue  # stopped meanwhile; what it did is kept all the same
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
