"""The sweep: all of the dead, none of the living, whatever way it has to go."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.fastlane.coordinators import BEATS, NAMES, indexed, key, now_ms, owned, put
from windlass.fastlane.keys import SWEPT
from windlass.fastlane.sweep import say_swept, sweep
from windlass.fastlane.sweep_judge import StaleCoordinator, Terms
from windlass.fastlane.sweep_pipelined import Pipelined
from windlass.limits import SWEEP_BATCH, SWEEP_NAMES_MAX, SWEEP_PAGE

SIX = set(NAMES)
# Neither says when its coordinator beat last.
UNREADABLE = [
    b"",
    b"not json",
    b"null",
    b"[]",
    b"{}",
    b'{"id": "odd", "at_ms": "1"}',
    b'{"id": "odd", "at_ms": true}',
    b'{"id": "odd", "at_ms": null}',
    b'{"id": "odd", "at_ms": 0}',
    b'{"id": "odd", "at_ms": -5}',
    b'{"id": "odd", "at_ms": NaN}',
    b'{"id": "odd", "at_ms": 1e999}',
    b'{"id": "another", "at_ms": 1}',
    b'{"id": 7, "at_ms": 1}',
    b"\xff\xfe",
    b"[" * 3000,
    b'{"id": "odd", "at_ms": 1, "host": "' + b"x" * 5000 + b'"}',
]


async def test_the_dead_go_and_the_living_stay(client: Any) -> None:
    await put(client, "c-1", "c-2")
    await put(client, "c-10", "c-3", age_ms=1000)
    swept = await sweep(client, stale_seconds=600)
    assert set(swept.stale) == {b"c-1", b"c-2"}
    assert (swept.checked, swept.removed_keys, swept.skipped) == (4, 12, set())
    assert [await owned(client, one) for one in ("c-1", "c-2")] == [set(), set()]
    assert [await owned(client, one) for one in ("c-3", "c-10")] == [SIX, SIX]
    assert await indexed(client) == {"c-3", "c-10"}
    again = await sweep(client, stale_seconds=600, is_scan=True)
    assert (again.checked, again.removed_keys, len(again.stale)) == (2, 0, 0)


async def test_a_dry_run_counts_what_would_go_and_touches_nothing(client: Any) -> None:
    await put(client, "dead", "dead-too")
    await put(client, "old", is_indexed=False)
    dry = await sweep(client, stale_seconds=600, is_dry_run=True)
    assert (dry.removed_keys, set(dry.stale)) == (12, {b"dead", b"dead-too"})
    dry = await sweep(client, stale_seconds=600, is_dry_run=True, is_scan=True)
    assert (dry.removed_keys, set(dry.stale)) == (17, {b"dead", b"dead-too", b"old"})
    assert [await owned(client, one) for one in ("dead", "dead-too")] == [SIX, SIX]
    assert await indexed(client) == {"dead", "dead-too"}
    real = await sweep(client, stale_seconds=600, is_scan=True)
    assert (real.removed_keys, real.stale) == (17, dry.stale)


@pytest.mark.parametrize("beat", UNREADABLE, ids=lambda beat: ascii(beat[:40]))
async def test_an_unreadable_beat_is_counted_and_never_a_reason_to_delete(
    client: Any, beat: bytes
) -> None:
    await put(client, "odd", beat=beat)
    await put(client, "dead")
    swept = await sweep(client, stale_seconds=600, is_scan=True)
    assert (set(swept.stale), swept.skipped, swept.checked) == ({b"dead"}, {b"odd"}, 2)
    assert await owned(client, "odd") == SIX
    assert await indexed(client) == {"odd"}


async def test_what_is_no_string_is_no_beat_and_an_odd_id_is_nobody(client: Any) -> None:
    await put(client, "odd")
    await client.delete(key("odd", "beat"))
    await client.rpush(key("odd", "beat"), "x")
    await client.zadd(BEATS, {"a}b": 1, "{": 1, "": 1})
    swept = await sweep(client, stale_seconds=600)
    assert (set(swept.stale), swept.skipped) == (set(), {b"odd", b"a}b", b"{", b""})
    assert await owned(client, "odd") == SIX


async def test_a_scan_finds_keys_without_an_entry_by_exact_id(client: Any) -> None:
    await put(client, "c-1", is_indexed=False)
    await put(client, "c-10", "c-100", is_indexed=False, age_ms=1000)
    await put(client, "c-11", age_ms=1000)
    await client.set("windlass:coord:c-1:beat", "of nobody")
    await client.set("windlass:coordinate", "another's")
    without = await sweep(client, stale_seconds=600)
    assert (without.checked, len(without.stale)) == (1, 0)
    swept = await sweep(client, stale_seconds=600, is_scan=True)
    assert (set(swept.stale), swept.checked, swept.removed_keys) == ({b"c-1"}, 4, 5)
    assert await owned(client, "c-1") == set()
    assert [await owned(client, one) for one in ("c-10", "c-100")] == [SIX - {"keys"}] * 2
    assert await owned(client, "c-11") == SIX
    assert await client.exists("windlass:coord:c-1:beat") == 1
    assert await client.exists("windlass:coordinate") == 1


async def test_a_scan_takes_what_a_dead_one_owns_and_never_listed(client: Any) -> None:
    await put(client, "dead")
    for number in range(SWEEP_NAMES_MAX + 5):
        await client.set(key("dead", f"ack:{number}"), "x")
    swept = await sweep(client, stale_seconds=600, is_scan=True)
    assert (swept.removed_keys, len(swept.stale)) == (6 + SWEEP_NAMES_MAX + 5, 1)
    assert await client.dbsize() == 0


async def test_keys_without_a_beat_go_only_when_nobody_has_touched_them(client: Any) -> None:
    """After a flush a signal may wait for somebody who has not beaten again yet."""
    await client.rpush(key("flushed", "signals"), "{}")
    swept = await sweep(client, stale_seconds=600, is_scan=True)
    assert (swept.skipped, await owned(client, "flushed")) == ({b"flushed"}, {"signals"})
    dry = await sweep(client, stale_seconds=0, is_scan=True, is_dry_run=True)
    assert (set(dry.stale), dry.removed_keys) == ({b"flushed"}, 1)
    swept = await sweep(client, stale_seconds=0, is_scan=True)
    assert (set(swept.stale), await owned(client, "flushed")) == ({b"flushed"}, set())


async def test_a_beat_in_its_own_key_is_enough_to_live(client: Any) -> None:
    await put(client, "thawed", "dead")
    at_ms = await now_ms(client)
    await client.set(key("thawed", "beat"), json.dumps({"id": "thawed", "at_ms": at_ms}))
    swept = await sweep(client, stale_seconds=600)
    assert (set(swept.stale), swept.checked) == ({b"dead"}, 2)
    assert (await owned(client, "thawed"), await indexed(client)) == (SIX, {"thawed"})


async def test_a_list_of_names_may_be_long_or_name_what_belongs_to_others(client: Any) -> None:
    await put(client, "dead")
    many = [key("dead", f"idem:{number}") for number in range(5 * SWEEP_NAMES_MAX)]
    for name in many:
        await client.set(name, "x")
    foreign = [f"of-others:{number}" for number in range(2 * SWEEP_NAMES_MAX)]
    await client.set(key("alive", "idem:s1"), "x")
    await client.sadd(key("dead", "keys"), *many, *foreign, key("alive", "idem:s1"))
    await client.set(foreign[0], "x")
    dry = await sweep(client, stale_seconds=600, is_dry_run=True)
    assert dry.removed_keys >= len(many) + 6
    swept = await sweep(client, stale_seconds=600)
    assert (swept.removed_keys, set(swept.stale)) == (len(many) + 6, {b"dead"})
    assert await client.dbsize() == 2


async def test_what_stands_where_names_should_be_goes_with_its_owner(client: Any) -> None:
    await put(client, "dead")
    await client.delete(key("dead", "keys"))
    await client.set(key("dead", "keys"), "no set")
    swept = await sweep(client, stale_seconds=600)
    assert (swept.removed_keys, await owned(client, "dead")) == (4, {"ack:s1", "idem:s1"})


async def test_more_than_a_page_of_one_score_and_of_many_scores_are_all_found(redis: Any) -> None:
    same = [f"same-{number}" for number in range(2 * SWEEP_PAGE + 7)]
    other = {f"other-{number}": number + 1 for number in range(SWEEP_PAGE + 7)}
    await redis.zadd(BEATS, {**dict.fromkeys(same, 500), **other})
    swept = await sweep(redis, stale_seconds=600)
    assert {one.decode() for one in swept.stale} == {*same, *other}
    assert await redis.exists(BEATS) == 0


async def test_nothing_there_is_nothing_to_do(client: Any) -> None:
    for is_scan in (False, True):
        swept = await sweep(client, stale_seconds=600, is_scan=is_scan)
        assert (swept.checked, swept.removed_keys, len(swept.stale)) == (0, 0, 0)


async def test_that_a_sweep_has_ended_is_heard_and_nothing_is_left_of_it(client: Any) -> None:
    async with client.pubsub() as pubsub:
        await pubsub.subscribe(SWEPT)
        await say_swept(client)
        async with asyncio.timeout(10):
            while (message := await pubsub.get_message(timeout=1)) is None or (
                message["type"] != "message"
            ):
                pass
    assert message["channel"] == SWEPT.encode()
    assert await client.dbsize() == 0


async def test_the_report_says_which_way_it_went(client: Any, request: Any) -> None:
    swept = await sweep(client, stale_seconds=600)
    way = request.node.callspec.params["client"]
    assert swept.mode == ("pipelined" if "without scripts" in way else "scripted")


async def test_whoever_beats_between_the_look_and_the_removal_lives(redis: Any) -> None:
    """Without scripts: the one that beat is kept, and its neighbours of the same batch still go."""
    await put(redis, "a", "b", "c")

    class Beating(Pipelined):
        has_beaten = False

        async def _parts(self, doomed: list[Any]) -> list[Any]:
            if any(one.id == b"b" for one in doomed) and not self.has_beaten:
                self.has_beaten = True
                await put(redis, "b", age_ms=0)
            return await super()._parts(doomed)

    cutoff_ms = await now_ms(redis) - 600_000
    terms = Terms(cutoff_ms=cutoff_ms, stale_seconds=600, is_dry_run=False)
    suspects = [StaleCoordinator(id=one, is_dead_without_beat=True) for one in (b"a", b"b", b"c")]
    judge = Beating(redis, terms)
    assert [verdict.word for verdict in await judge.judge(suspects)] == ["dead", "kept", "dead"]
    await judge.forget([b"a", b"b", b"c"])
    assert (await owned(redis, "b"), await indexed(redis)) == (SIX, {"b"})


async def test_the_living_are_untouched_while_they_beat_and_others_die(client: Any) -> None:
    living = [f"live-{number}" for number in range(20)]
    dead = [f"dead-{number}" for number in range(3 * SWEEP_BATCH)]
    await put(client, *living, age_ms=0)
    await put(client, *dead)

    is_over = asyncio.Event()

    async def beat() -> None:
        while not is_over.is_set():
            await put(client, *living, age_ms=0)

    beating = asyncio.create_task(beat())
    swept = await sweep(client, stale_seconds=600, is_scan=True)
    is_over.set()
    await beating
    assert {one.decode() for one in swept.stale} == set(dead)
    assert [await owned(client, one) for one in living] == [SIX] * len(living)
    assert await indexed(client) == set(living)
