"""What coordinators own in Redis: bounded, indexed by exact name, and gone when they go."""

from __future__ import annotations

from typing import Any

import pytest

from windlass.fastlane.coordinator import Coordinators
from windlass.fastlane.keys import COORDINATORS, INSTALLATION, coordinator
from windlass.fastlane.lane import FastLane, LaneDown
from windlass.fastlane.signals import Signals
from windlass.limits import SIGNALS_PENDING_MAX
from windlass.model.cluster.node_signal import Signal

ME, OTHER = "node_1", "node_10"
SIGNAL = Signal(id="sig_1", name="ping", payload={"é": [1]}, sender=OTHER)


async def test_a_beat_tells_the_newcomer_and_whom_a_flush_has_forgotten(
    lane: FastLane, redis: Any
) -> None:
    coordinators = Coordinators(lane, b"here")
    first_ms, is_new = await coordinators.beat(ME, is_renewal=False)
    assert is_new
    again_ms, is_new = await coordinators.beat(ME, is_renewal=False)
    assert (again_ms >= first_ms, is_new) == (True, False)
    assert await redis.zscore(COORDINATORS, ME) == again_ms
    await redis.flushall()
    assert (await coordinators.beat(ME, is_renewal=False))[1]
    assert await redis.pttl(COORDINATORS) > 0


async def test_who_comes_second_to_a_redis_of_another_database_knows_it(
    lane: FastLane, redis: Any
) -> None:
    first, second = Coordinators(lane, b"first"), Coordinators(lane, b"second")

    async def is_anothers(whose: Coordinators) -> bool:
        await whose.see_whose()
        return lane.is_shared

    told = [await is_anothers(whose) for whose in (first, first, second, first)]
    assert told == [False, False, True, False]
    assert await redis.pttl(INSTALLATION) > 0
    await second.leave(OTHER)
    assert await is_anothers(second), "it is not its word to take back"
    await first.leave(ME)
    assert not await is_anothers(second)
    await redis.delete(INSTALLATION)
    await redis.sadd(INSTALLATION, "what nobody of us wrote")
    assert await is_anothers(first)


async def test_names_of_lapsed_keys_leave_the_index(lane: FastLane, redis: Any) -> None:
    coordinators, index = Coordinators(lane, b"here"), coordinator(ME, "keys")
    lapsed = [coordinator(ME, f"idem:sig_{n}") for n in range(1_000)]
    await redis.sadd(index, *lapsed)
    assert await coordinators.say(ME, 1, {"in_flight": 0}, lapsed) == 0
    fixed = {coordinator(ME, name).encode() for name in ("beat", "signals", "activity", "keys")}
    assert await redis.smembers(index) == fixed


async def test_leaving_takes_thousands_of_keys_and_none_of_a_neighbour(
    lane: FastLane, redis: Any
) -> None:
    coordinators = Coordinators(lane, b"here")
    for owner in (ME, OTHER):
        await coordinators.say(owner, (await coordinators.beat(owner, is_renewal=True))[0], {})
    mine = [coordinator(ME, f"idem:sig_{n}") for n in range(1_200)]
    await redis.mset(dict.fromkeys(mine, "{}"))
    await redis.sadd(coordinator(ME, "keys"), *mine)
    # However a foreign name came into the index, it is not ours to remove.
    await redis.sadd(coordinator(ME, "keys"), coordinator(OTHER, "beat"))
    assert await coordinators.leave(ME)
    left = {coordinator(OTHER, name) for name in ("beat", "activity", "keys")}
    assert {key.decode() for key in await redis.keys("*")} == {*left, COORDINATORS}
    assert await redis.zrange(COORDINATORS, 0, -1) == [OTHER.encode()]


async def test_a_signal_stays_until_it_is_done_with_and_leaves_its_mark(
    lane: FastLane, redis: Any
) -> None:
    signals = Signals(lane)
    assert await signals.push(ME, SIGNAL)
    [waiting] = await signals.read(ME)
    assert (waiting.signal(), waiting.mark) == (SIGNAL, None)
    assert len(await signals.read(ME)) == 1
    await signals.push(ME, SIGNAL)
    mark = await signals.done(ME, waiting, {"n": 1})
    assert await signals.read(ME) == [], "with its double"
    await signals.push(ME, SIGNAL)
    assert [again.mark for again in await signals.read(ME)] == [{"n": 1}]
    assert await redis.sismember(coordinator(ME, "keys"), mark)
    for name in await redis.smembers(coordinator(ME, "keys")):
        assert await redis.pttl(name) > 0, name
    assert await redis.pttl(coordinator(ME, "keys")) > 0


async def test_what_is_no_signal_is_dropped_and_others_pass(lane: FastLane, redis: Any) -> None:
    signals = Signals(lane)
    await redis.rpush(coordinator(ME, "signals"), "", "hello", '{"name":"x"}', '{"id":"*"}')
    await signals.push(ME, SIGNAL)
    assert [waiting.id for waiting in await signals.read(ME)] == [SIGNAL.id]
    assert await redis.llen(coordinator(ME, "signals")) == 1


async def test_a_target_that_reads_nothing_does_not_gather_for_ever(
    lane: FastLane, redis: Any
) -> None:
    signals = Signals(lane)
    await redis.rpush(coordinator(ME, "signals"), *(["x"] * (SIGNALS_PENDING_MAX - 1)))
    assert await signals.push(ME, SIGNAL)
    assert not await signals.push(ME, SIGNAL)


async def test_acknowledgements_are_kept_while_somebody_waits_and_not_after(
    lane: FastLane, redis: Any
) -> None:
    signals = Signals(lane)
    await signals.open(OTHER, SIGNAL.id)
    assert await signals.acks(OTHER, SIGNAL.id) == {}
    await signals.acknowledge(ME, SIGNAL, {"n": 1})
    assert await signals.acks(OTHER, SIGNAL.id) == {ME: {"n": 1}}
    await signals.close(OTHER, SIGNAL.id)
    await signals.acknowledge(ME, SIGNAL, {"n": 1})
    assert await redis.keys("*") == []


async def test_without_redis_leaving_is_quiet_and_the_rest_says_so() -> None:
    lane = FastLane(None)
    assert not await Coordinators(lane, b"here").leave(ME)
    with pytest.raises(LaneDown):
        await Signals(lane).push(ME, SIGNAL)
