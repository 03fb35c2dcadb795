"""Signals between nodes: tell coordinators something and wait until they acknowledge.

Promises: every living target is told, through Redis, and through PostgreSQL when Redis does not
bring it about; the answer names each target once, as acknowledged or as missing. Who is dead or not
known is missing at once; who does not acknowledge in time is missing then (and may still do it).

    living? -> open -> push to each, poke -> wait -------------------> all acknowledged, or late
                          '- Redis is away, full or silent -> write -> poke -'
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID

import msgspec

from windlass import ids
from windlass.clock import monotonic
from windlass.errors import Unavailable
from windlass.fastlane.lane import LaneDown
from windlass.fastlane.signals import Signals
from windlass.limits import SIGNAL_DOUBT_SECONDS, SIGNAL_LIFE_SECONDS
from windlass.model.cluster.node_signal import Answer, Signal, Signalled
from windlass.store.database import Database

# Acknowledgements are told; this is how often they are looked for in case one was not.
LOOK_SECONDS: Final = 0.2


class Signaller:
    def __init__(self, database: Database, signals: Signals, sender: Callable[[], str]) -> None:
        self._database = database
        self._signals = signals
        self._sender = sender
        self._open: dict[str, _Wait] = {}
        signals.on_ack(self._hear)

    async def signal(
        self,
        targets: Sequence[UUID] | None,  # None: all that live
        name: str,
        payload: dict[str, Any],
        wait_seconds: float,
    ) -> Signalled:
        deadline = monotonic() + wait_seconds
        living = await self._living(targets)
        asked = sorted({ids.show("node", target) for target in targets or ()})
        signal = Signal(
            id=ids.show("signal", ids.uuid7()), name=name, payload=payload, sender=self._sender()
        )
        wait = self._open[signal.id] = _Wait(signal, living)
        try:
            await self._tell(wait)
            await self._collect(wait, deadline)
        finally:
            del self._open[signal.id]
            with contextlib.suppress(LaneDown):
                await self._signals.close(signal.sender, signal.id)
        reasons = {target: "no such node lives" for target in asked if target not in living}
        late = f"it did not acknowledge within {wait_seconds:g} s"
        reasons |= dict.fromkeys(wait.left, late)
        return Signalled(
            id=signal.id,
            acknowledged=sorted(wait.answers),
            missing=sorted(reasons),
            answers=wait.answers,
            reasons=reasons,
        )

    async def _living(self, targets: Sequence[UUID] | None) -> set[str]:
        wanted = None if targets is None else list(targets)
        rows = await self._database.run("node_alive", wanted)
        return {ids.show("node", row["id"]) for row in rows}

    async def _tell(self, wait: _Wait) -> None:
        """Through Redis; whom that does not reach, through PostgreSQL."""
        pushed = await self._push(wait)
        if pushed:
            self._signals.poke(sorted(pushed), is_stored=False)
        if unreached := wait.left - pushed:
            await self._write(wait, unreached)

    async def _push(self, wait: _Wait) -> set[str]:
        """Those with whom it could be left in Redis."""
        signal, pushed = wait.signal, set()
        with contextlib.suppress(LaneDown):
            await self._signals.open(signal.sender, signal.id)
            for target in sorted(wait.left):
                if await self._signals.push(target, signal):
                    pushed.add(target)
        return pushed

    async def _write(self, wait: _Wait, targets: set[str]) -> None:
        signal = wait.signal
        await self._database.run(
            "signal_write",
            ids.parse("signal", signal.id),
            signal.name,
            msgspec.json.encode(signal.payload).decode(),
            SIGNAL_LIFE_SECONDS,
            sorted(ids.parse("node", target) for target in targets),
        )
        wait.written |= targets
        self._signals.poke(sorted(targets), is_stored=True)

    async def _collect(self, wait: _Wait, deadline: float) -> None:
        """Until all have acknowledged, or the deadline."""
        doubt_at = monotonic() + SIGNAL_DOUBT_SECONDS
        while wait.left and (seconds := deadline - monotonic()) > 0:
            await wait.rest(min(seconds, LOOK_SECONDS))
            if not wait.left:
                return
            # What neither way tells now, the next look may; the deadline ends it.
            with contextlib.suppress(LaneDown):
                wait.heard(await self._signals.acks(wait.signal.sender, wait.signal.id))
            with contextlib.suppress(Unavailable):
                if monotonic() >= doubt_at and not wait.left <= wait.written:
                    await self._write(wait, wait.left - wait.written)
                if wait.left & wait.written:
                    wait.heard(await self._stored_acks(wait.signal.id))

    async def _stored_acks(self, signal_id: str) -> dict[str, Answer]:
        rows = await self._database.run("signal_acks", ids.parse("signal", signal_id))
        return {
            ids.show("node", row["node_id"]): msgspec.json.decode(row["answer"]) for row in rows
        }

    def _hear(self, signal_id: str, target: str, answer: Answer) -> None:
        if (wait := self._open.get(signal_id)) is not None:
            wait.heard({target: answer})


class _Wait:
    """One signal whose sender waits."""

    def __init__(self, signal: Signal, targets: set[str]) -> None:
        self.signal = signal
        self.left = set(targets)
        self.written: set[str] = set()  # those told through PostgreSQL
        self.answers: dict[str, Answer] = {}
        self._news = asyncio.Event()

    def heard(self, acks: dict[str, Answer]) -> None:
        for target in self.left & acks.keys():
            self.left.discard(target)
            self.answers[target] = acks[target]
            self._news.set()

    async def rest(self, seconds: float) -> None:
        """Until somebody acknowledges, or so long."""
        self._news.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
