"""The guarded client: its outbox is bounded, and what a full one pushes out is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from windlass.fastlane.keys import CHANNELS
from windlass.fastlane.lane import BUFFER_MAX, FastLane

MORE = 3


@pytest.mark.parametrize(
    "put",
    [
        lambda lane: lane.publish(CHANNELS[0], b"{}"),
        lambda lane: lane.forget("windlass:nobody"),
    ],
    ids=["publish", "forget"],
)
async def test_a_full_outbox_counts_what_it_pushes_out(
    lane: FastLane, put: Callable[[FastLane], None]
) -> None:
    # Nobody sends meanwhile: nothing here waits.
    for _ in range(BUFFER_MAX):
        put(lane)
    assert lane.dropped == 0
    for _ in range(MORE):
        put(lane)
    assert lane.dropped == MORE


async def test_it_is_closed_although_a_cancellation_got_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a library to which a message comes in the same moment."""
    lost: list[bool] = []

    async def deaf_once() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if lost:
                    raise
                lost.append(True)

    lane = FastLane("redis://127.0.0.1:1")
    monkeypatch.setattr(lane, "_receive", deaf_once)
    monkeypatch.setattr(lane, "_make_client", lambda: asyncio.sleep(0))
    await lane.open()
    await asyncio.sleep(0.05)
    async with asyncio.timeout(20):
        await lane.close()
    assert lost
