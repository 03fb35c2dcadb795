"""Signals between nodes through Redis: left with their targets, read, done with, acknowledged.

Promises: a signal stays with its target until the target has done with it, so a lost answer loses
nothing; whatever a flush takes is said again by the sender through PostgreSQL
(engine.cluster.node_signals).
Never: holds more than a few of the lane's connections. Raises LaneDown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from windlass.fastlane import keys
from windlass.fastlane.coordinator import KEPT_MS
from windlass.fastlane.lane import FastLane
from windlass.limits import SIGNAL_LIFE_SECONDS, SIGNALS_PENDING_MAX, SIGNALS_READ_MAX
from windlass.model.cluster.node_signal import Answer, Signal

# The lane has eight connections for everybody, and who finds none free takes it for broken.
_CALLS_MAX: Final = 3
_KEPT_MS: Final = round(SIGNAL_LIFE_SECONDS * 1000)

OnPoke = Callable[[Sequence[str] | None, bool], None]
OnAck = Callable[[str, str, Answer], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSignal:
    """A signal in a target's list."""

    text: bytes
    id: str
    mark: Answer | None  # None: not handled yet, as far as Redis knows

    def signal(self) -> Signal:
        """Raises msgspec.MsgspecError for what is none of ours."""
        return msgspec.json.decode(self.text, type=Signal)


class Signals:
    def __init__(self, lane: FastLane) -> None:
        self._lane = lane
        self._calls = asyncio.Semaphore(_CALLS_MAX)
        self._on_poke: list[OnPoke] = []
        self._on_ack: list[OnAck] = []
        lane.on_message(keys.SIGNALS, self._hear)
        # Pokes may have been missed meanwhile, or will be from now on: look everywhere.
        lane.on_change(lambda _: self._each_poke(None, is_stored=True))

    # -- the sender ------------------------------------------------------------------------------

    async def open(self, sender: str, signal_id: str) -> None:
        await self._ask("signal_open", sender, (f"ack:{signal_id}", "keys"), _KEPT_MS, KEPT_MS)

    async def push(self, target: str, signal: Signal) -> bool:
        """False: too many wait there."""
        text = msgspec.json.encode(signal)
        names = ("signals", "keys")
        said = await self._ask(
            "signal_push", target, names, text, _KEPT_MS, KEPT_MS, SIGNALS_PENDING_MAX
        )
        return bool(said == b"pushed")

    def poke(self, targets: Sequence[str], *, is_stored: bool) -> None:
        """Make them look: into Redis, and if `is_stored` into PostgreSQL."""
        self._publish({"to": list(targets), "stored": is_stored})

    async def acks(self, sender: str, signal_id: str) -> dict[str, Answer]:
        said = await self._ask("signal_acks", sender, (f"ack:{signal_id}",))
        by = zip(said[::2], said[1::2], strict=True)
        return {who.decode(): msgspec.json.decode(answer) for who, answer in by if who}

    async def close(self, sender: str, signal_id: str) -> None:
        await self._ask("signal_close", sender, (f"ack:{signal_id}", "keys"))

    def on_ack(self, listener: OnAck) -> None:
        """Hears signal, target and answer, of every signal; a hint that may not come."""
        self._on_ack.append(listener)

    # -- the target ------------------------------------------------------------------------------

    def on_poke(self, listener: OnPoke) -> None:
        """Hears who is to look (None: everybody), and whether in PostgreSQL too."""
        self._on_poke.append(listener)

    async def read(self, owner: str) -> list[PendingSignal]:
        marks = keys.coordinator(owner, "idem:")
        said = await self._ask("signal_read", owner, ("signals",), SIGNALS_READ_MAX, marks)
        return [
            PendingSignal(
                text=text, id=found.decode(), mark=msgspec.json.decode(mark) if mark else None
            )
            for text, found, mark in zip(said[::3], said[1::3], said[2::3], strict=True)
        ]

    async def done(self, owner: str, waiting: PendingSignal, answer: Answer) -> str:
        """Handled; returns the name of the mark, which lapses after SIGNAL_LIFE_SECONDS."""
        names = ("signals", f"idem:{waiting.id}", "keys")
        said = msgspec.json.encode(answer)
        await self._ask("signal_done", owner, names, waiting.text, said, _KEPT_MS, KEPT_MS)
        return keys.coordinator(owner, names[1])

    async def acknowledge(self, owner: str, signal: Signal, answer: Answer) -> None:
        said = msgspec.json.encode(answer)
        await self._ask("signal_ack", signal.sender, (f"ack:{signal.id}",), owner, said)
        self._publish({"ack": signal.id, "by": owner, "answer": answer})

    # -- both ------------------------------------------------------------------------------------

    async def _ask(
        self, script: str, owner: str, names: Sequence[str], *args: int | str | bytes
    ) -> Any:
        async with self._calls:
            return await self._lane.ask(
                script, [keys.coordinator(owner, name) for name in names], *args
            )

    def _publish(self, told: dict[str, Any]) -> None:
        self._lane.publish(keys.SIGNALS, msgspec.json.encode(told))

    def _hear(self, message: bytes) -> None:
        told = msgspec.json.decode(message)
        if "ack" in told:
            for hear in self._on_ack:
                hear(told["ack"], told["by"], told["answer"])
        else:
            self._each_poke(told["to"], is_stored=told["stored"])

    def _each_poke(self, targets: Sequence[str] | None, *, is_stored: bool) -> None:
        for hear in self._on_poke:
            hear(targets, is_stored)
