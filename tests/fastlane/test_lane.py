"""The guarded client: its outbox is bounded, and what a full one pushes out is counted."""

from __future__ import annotations

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
