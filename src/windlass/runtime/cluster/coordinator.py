"""A node as a coordinator: heartbeats in Redis; signals received, handled and acknowledged.

Promises: a signal is handled once, however often and by whichever way it comes; whoever sends it
again gets the same answer again. The process remembers what it has handled, so a flushed Redis
forgets nothing; the mark in Redis is for what the process no longer remembers.
Idle: one beat, in two calls of three commands each; nothing is read unless somebody pokes, the beat
finds a signal waiting, or Redis does not answer: then PostgreSQL is asked every second.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID

import msgspec
import structlog

from windlass import ids
from windlass.clock import monotonic
from windlass.engine.cluster.node_signals_stored import acknowledge_signals, pending_signals
from windlass.fastlane.coordinator import Coordinators
from windlass.fastlane.lane import LaneDown
from windlass.fastlane.signals import PendingSignal, Signals
from windlass.limits import (
    COORDINATOR_RENEW_SECONDS,
    SIGNAL_LIFE_SECONDS,
    SIGNAL_POLL_SECONDS,
    SIGNALS_READ_MAX,
    SIGNALS_REMEMBERED_MAX,
)
from windlass.model.cluster.node_signal import Answer, Signal
from windlass.runtime.cluster.signal_handlers import SignalHandlers
from windlass.runtime.loop import Loop
from windlass.store.database import Database

log = structlog.get_logger()

_LAPSED_MAX: Final = 1_000
_STOP_SECONDS: Final = 1.0
_LONG_SECONDS: Final = 3600.0  # until somebody wakes it


class Coordinator:
    def __init__(
        self,
        *,
        node_id: UUID,
        database: Database,
        coordinators: Coordinators,
        signals: Signals,
        handlers: SignalHandlers,
        beat_seconds: float,
        activity: Callable[[], dict[str, Any]],  # what a beat says that the node does
    ) -> None:
        self.id = ids.show("node", node_id)
        self._node_id = node_id
        self._database = database
        self._coordinators = coordinators
        self._signals = signals
        self._handlers = handlers
        self._beat_seconds = beat_seconds
        self._said: dict[str, Any] | None = None  # the activity that Redis has
        self._renew_at = 0.0
        self._lapses: deque[tuple[float, str]] = deque()  # marks in Redis, and when they go
        self._answers: OrderedDict[str, asyncio.Task[Answer]] = OrderedDict()
        self._has_lane = False  # did Redis answer the last time?
        self._must_ask_database = True
        self._activity = activity
        self._loops = [Loop("beat", self._beat), Loop("signals", self._receive)]

    def start(self) -> None:
        for loop in self._loops:
            loop.start()

    def abort(self) -> None:
        for loop in self._loops:
            loop.abort()
        for task in self._answers.values():
            task.cancel()

    async def leave(self) -> None:
        """Stop, and take along what it owns in Redis."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):  # a handler may take longer than that
                await asyncio.gather(*(loop.stop() for loop in self._loops))
        self.abort()
        await self._coordinators.leave(self.id)

    def poked(self, targets: Sequence[str] | None, is_stored: bool) -> None:
        if targets is None or self.id in targets:
            self.look(is_stored=is_stored)

    def look(self, *, is_stored: bool) -> None:
        """A signal waits: in PostgreSQL, if `is_stored`."""
        self._must_ask_database |= is_stored
        self._loops[1].wake()

    # -- beats -----------------------------------------------------------------------------------

    async def _beat(self) -> float:
        try:
            is_renewal = monotonic() >= self._renew_at
            now_ms, is_new = await self._coordinators.beat(self.id, is_renewal=is_renewal)
            waiting = await self._say(now_ms, must=is_renewal or is_new)
            if is_renewal:
                await self._coordinators.see_whose()
        except LaneDown:
            self._lane_failed()
            return self._beat_seconds
        self._has_lane = True
        if is_renewal:
            self._renew_at = monotonic() + COORDINATOR_RENEW_SECONDS
        if waiting:
            self.look(is_stored=False)
        return self._beat_seconds

    async def _say(self, now_ms: int, *, must: bool) -> int:
        activity = self._activity()
        is_as_it_was = activity == self._said and not must
        lapsed = [] if is_as_it_was else self._lapsed()
        said = None if is_as_it_was else activity
        waiting = await self._coordinators.say(self.id, now_ms, said, lapsed)
        self._said = activity
        return waiting

    def _lapsed(self) -> list[str]:
        """Names of marks that have gone by themselves, so that `keys` does not grow for ever."""
        lapsed: list[str] = []
        while self._lapses and self._lapses[0][0] < monotonic() and len(lapsed) < _LAPSED_MAX:
            lapsed.append(self._lapses.popleft()[1])
        return lapsed

    def _lane_failed(self) -> None:
        if self._has_lane:
            self._has_lane = False
            self._loops[1].wake()  # it rests for as long as Redis would have called

    # -- signals ---------------------------------------------------------------------------------

    async def _receive(self) -> float:
        asked, self._must_ask_database = self._must_ask_database, False
        is_more = await self._receive_from_lane()
        if asked or not self._has_lane:
            is_more |= await self._receive_from_database()
        if is_more:
            return 0.0
        return _LONG_SECONDS if self._has_lane else SIGNAL_POLL_SECONDS

    async def _receive_from_lane(self) -> bool:
        """True: there may be more."""
        try:
            found = await self._signals.read(self.id)
            self._has_lane = True
            await asyncio.gather(*map(self._take, found))
        except LaneDown:
            self._has_lane = False
            return False
        return len(found) == SIGNALS_READ_MAX

    async def _take(self, waiting: PendingSignal) -> None:
        try:
            signal = waiting.signal()
        except msgspec.MsgspecError:
            log.warning("signal_unreadable", signal=waiting.id)
            await self._signals.done(self.id, waiting, {"error": "it could not be read"})
            return
        answer = await self._handle_once(signal, waiting.mark)
        mark = await self._signals.done(self.id, waiting, answer)
        self._lapses.append((monotonic() + SIGNAL_LIFE_SECONDS, mark))
        await self._signals.acknowledge(self.id, signal, answer)

    async def _receive_from_database(self) -> bool:
        found = await pending_signals(self._database, self._node_id)
        answers = await asyncio.gather(*(self._handle_once(signal, None) for signal in found))
        by_id = {signal.id: answer for signal, answer in zip(found, answers, strict=True)}
        await acknowledge_signals(self._database, self._node_id, by_id)
        return len(found) == SIGNALS_READ_MAX

    async def _handle_once(self, signal: Signal, mark: Answer | None) -> Answer:
        task = self._answers.get(signal.id)
        if task is None:
            if mark is not None:
                return mark
            log.debug("signal_came", signal=signal.id, name=signal.name)
            task = asyncio.create_task(
                self._handlers.answer(signal.name, signal.payload), name=f"signal {signal.name}"
            )
            self._answers[signal.id] = task
            if len(self._answers) > SIGNALS_REMEMBERED_MAX:
                self._answers.popitem(last=False)
        return await asyncio.shield(task)
