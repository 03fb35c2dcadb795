"""Requests a second over all nodes: one limit with Redis, shares without, no more in between."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.fastlane.conftest import say, started
from tests.until import until
from windlass.clock import monotonic
from windlass.embedded.valkey import EmbeddedValkey
from windlass.fastlane import keys
from windlass.fastlane.lane import FastLane, LaneDown
from windlass.fastlane.request_rate import RequestRate
from windlass.model.identity.quota import Pace

SLOW = Pace(per_second=0.01, burst=6)  # nothing comes back while a test runs


async def take(node: RequestRate, name: str, pace: Pace, nodes: int) -> bool:
    """As engine.identity.request_limits does it."""
    try:
        return (await node.take(name, pace)).is_granted
    except LaneDown:
        return node.take_share(name, pace, nodes).is_granted


async def is_answered(node: RequestRate) -> bool:
    try:
        await node.take("probe", SLOW, 0)
    except LaneDown:
        return False
    return True


async def granted(nodes: list[RequestRate], name: str, pace: Pace, times: int) -> int:
    """By all of them in turns."""
    count = 0
    for n in range(times):
        count += await take(nodes[n % len(nodes)], name, pace, len(nodes))
    return count


async def test_all_nodes_share_one_limit_and_are_told_what_is_left(lane: FastLane) -> None:
    nodes = [RequestRate(lane), RequestRate(lane), RequestRate(lane)]
    first = await nodes[0].take("a", SLOW)
    assert first.is_granted
    assert SLOW.remaining(first.ahead_seconds * 1e6) == 5
    assert (await nodes[1].take("a", SLOW, 0)).ahead_seconds == pytest.approx(100, abs=5)
    assert await granted(nodes, "a", SLOW, 30) == 5
    refused = await nodes[1].take("a", SLOW)
    assert not refused.is_granted
    assert 90 < refused.wait_seconds <= 100, "until the next one"
    assert await granted(nodes, "b", SLOW, 30) == 6, "another caller has his own"


async def test_what_a_slower_pace_had_spent_is_not_waited_for_at_another(
    lane: FastLane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A burst at 0.01 a second comes back in ten minutes; at twenty a second in as many moments."""
    quick = Pace(per_second=20, burst=6)
    nodes = [RequestRate(lane), RequestRate(lane)]
    await until(partial(is_answered, nodes[0]))
    assert await granted(nodes, "a", SLOW, 10) == 6
    refused = await nodes[0].take("a", quick)
    assert not refused.is_granted, "nor is it forgotten"
    assert refused.wait_seconds <= 1 / 20
    assert refused.ahead_seconds <= 6 / 20
    begun = monotonic()
    await until(lambda: is_granted(nodes[0], "a", quick), what="the next one", within_seconds=10)
    count = 1 + await granted(nodes, "a", quick, 200)
    assert count <= 1 + 20 * (monotonic() - begun), "and no more than that"
    # The same of a share, without Redis.
    now = at(monkeypatch)
    alone = [RequestRate(FastLane(None))]
    now[0] += 601
    assert await granted(alone, "a", SLOW, 10) == 6
    assert await granted(alone, "a", quick, 10) == 0
    now[0] += 1.1 / 20
    assert await granted(alone, "a", quick, 10) == 1


async def is_granted(node: RequestRate, name: str, pace: Pace) -> bool:
    return (await node.take(name, pace)).is_granted


async def test_a_target_of_the_same_name_is_another_limit(lane: FastLane) -> None:
    assert (keys.CALLER_LIMIT % "a") != (keys.LIMIT % "a")
    assert keys.CALLER_LIMIT.startswith("windlass:limit:{")


async def test_a_caller_may_come_back_when_it_says(lane: FastLane) -> None:
    node, pace = RequestRate(lane), Pace(per_second=20, burst=1)
    assert (await node.take("a", pace)).is_granted
    begun = monotonic()
    count = 1
    while monotonic() < begun + 1:
        count += (await node.take("a", pace)).is_granted
    assert 1 < count <= 1 + 20 * (monotonic() - begun)


async def test_without_any_redis_each_node_has_its_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = at(monkeypatch)
    nodes = [RequestRate(FastLane(None)) for _ in range(3)]
    assert await granted(nodes, "a", SLOW, 30) == 0, "somebody may have had it all a moment ago"
    now[0] += 600
    assert await granted(nodes, "a", SLOW, 30) == 6
    now[0] += 100
    assert await granted(nodes, "a", SLOW, 30) == 0
    now[0] += 200
    assert await granted(nodes, "a", SLOW, 30) == 3, "one each"


async def test_while_redis_goes_and_comes_no_more_are_let_in_than_the_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = await started(tmp_path)
    lanes = [FastLane(server.url()), FastLane(server.url())]
    for lane in lanes:
        await lane.open()
    await until(lambda: all(lane.is_up for lane in lanes))
    now = at(monkeypatch)
    nodes = [RequestRate(lane) for lane in lanes]
    try:
        assert await granted(nodes, "a", SLOW, 30) == 6
        await server.stop(at_once=True)
        await until(lambda: not any(lane.is_up for lane in lanes))
        assert await granted(nodes, "a", SLOW, 30) == 0, "it is spent already"
        now[0] += 200
        assert await granted(nodes, "a", SLOW, 30) == 2, "one each, of two that came back"
        await server.start()
        for node in nodes:
            await until(partial(is_answered, node))
        assert await granted(nodes, "a", SLOW, 30) == 0, "Redis has forgotten, and is not believed"
        assert await granted(nodes, "new", SLOW, 30) == 0, "nor of others"
    finally:
        for lane in lanes:
            await lane.close()
        await server.stop(at_once=True)


async def test_what_was_let_in_during_a_hiccup_is_owed(
    lane: FastLane, valkey: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = at(monkeypatch)
    hasty, calm = RequestRate(lane), RequestRate(lane)
    assert (await hasty.take("a", SLOW)).is_granted
    monkeypatch.setattr(lane, "is_up", False)
    assert not await take(hasty, "a", SLOW, 2)
    now[0] += 400
    assert [await take(hasty, "a", SLOW, 2) for _ in range(4)] == [True, True, False, False]
    monkeypatch.setattr(lane, "is_up", True)
    assert (await hasty.take("a", SLOW)).is_granted, "the limit itself was not forgotten"
    assert await granted([calm], "a", SLOW, 10) == 6 - 1 - 2 - 1
    assert int(await say(valkey, "EXISTS", keys.CALLER_LIMIT % "a")) == 1


def at(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """This process' clock, at an instant that the test says; Redis has its own."""
    now = [10_000.0]
    clock: Callable[[], float] = lambda: now[0]  # noqa: E731
    monkeypatch.setattr("windlass.fastlane.request_rate.monotonic", clock)
    return now
