"""The sweep on a Cluster whose slots move: all of the dead in the end, none of the living ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from redis.crc import key_slot

from tests.fastlane.coordinators import NAMES, indexed, key, owned, put
from tests.servers.valkeys import SLOTS, ClusterOfThree, open_cluster_of_three
from windlass.fastlane.connect import client_of, close_client
from windlass.fastlane.sweep import Swept, sweep

STALE_SECONDS = 600.0
SCRIPTLESS, PASSWORD = "scriptless", "pw"


def owners(word: str, count: int) -> list[str]:
    """Those whose slots are the first server's, each with a slot of its own."""
    by_slot = {slot_of(f"{word}-{n}"): f"{word}-{n}" for n in range(20 * count)}
    found = [owner for slot, owner in by_slot.items() if slot < SLOTS // 3]
    return found[:count]


def slot_of(owner: str) -> int:
    return int(key_slot(key(owner, "").encode()))


DEAD, LIVING = owners("dead", 14), owners("living", 7)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Any]:
    """As the sweep gets it: it has not asked the Cluster anything yet."""
    client = client_of(url, seconds=5)
    try:
        yield client
    finally:
        await close_client(client)


@asynccontextmanager
async def with_coordinators(client: Any) -> AsyncIterator[None]:
    """In the end the dead are gone with their entries, and the living have all that is theirs."""
    await put(client, *DEAD)
    await put(client, *LIVING, age_ms=1000)
    yield
    assert [await owned(client, owner) for owner in DEAD] == [set()] * len(DEAD)
    assert [await owned(client, owner) for owner in LIVING] == [set(NAMES)] * len(LIVING)
    assert await indexed(client) == set(LIVING)


@pytest.mark.parametrize("mode", ["scripted", "pipelined"])
async def test_who_is_between_two_servers_is_skipped_and_left_to_the_next_sweep(mode: str) -> None:
    async with open_cluster_of_three() as valkeys, opened(await url_for(mode, valkeys)) as client:
        source, sink = valkeys.primaries[:2]
        async with opened(valkeys.url) as other, with_coordinators(other):
            # Of each kind some with nothing moved yet, some with everything, and all in between.
            for number, owner in enumerate([*DEAD, *LIVING]):
                await valkeys.begin_to_move(slot_of(owner), source, sink)
                for _ in range(number % (len(NAMES) + 1)):
                    await valkeys.move_some(slot_of(owner), source, sink, 1)
            first = await swept(client)
            assert first.mode == mode
            assert 0 < len(first.stale) < len(DEAD)
            assert {*first.stale, *first.skipped} == {owner.encode() for owner in DEAD}
            for owner in [*DEAD, *LIVING]:
                while await valkeys.move_some(slot_of(owner), source, sink, 1):
                    pass
                await valkeys.end_move(slot_of(owner), source, sink)
            second = await swept(client)
            assert (set(second.stale), second.skipped) == (first.skipped, set())


async def test_sweeps_go_on_while_slots_move() -> None:
    async with open_cluster_of_three() as valkeys, opened(valkeys.url) as client:
        source, sink = valkeys.primaries[:2]
        async with with_coordinators(client):
            is_over = False
            removed = 0

            async def sweep_for_ever() -> None:
                nonlocal removed
                while not is_over:
                    removed += (await swept(client)).removed_keys

            sweeping = asyncio.create_task(sweep_for_ever())
            for owner in [*DEAD, *LIVING]:
                await valkeys.begin_to_move(slot_of(owner), source, sink)
                while await valkeys.move_some(slot_of(owner), source, sink, 1):
                    pass
                await valkeys.end_move(slot_of(owner), source, sink)
            is_over = True
            await sweeping
            removed += (await swept(client)).removed_keys
            assert removed == len(NAMES) * len(DEAD)


async def swept(client: Any) -> Swept:
    """Each that is said to be dead has lost all its keys, and nobody else has lost one."""
    found = await sweep(client, stale_seconds=STALE_SECONDS)
    assert found.removed_keys == len(NAMES) * len(found.stale)
    return found


async def url_for(mode: str, valkeys: ClusterOfThree) -> str:
    if mode == "scripted":
        return valkeys.url
    acl = ("on", f">{PASSWORD}", "~*", "&*", "+@all", "-@scripting")
    for server in [*valkeys.primaries, valkeys.replica]:
        await server.tell("ACL", "SETUSER", SCRIPTLESS, "reset", *acl)
    return f"redis+cluster://{SCRIPTLESS}:{PASSWORD}@{valkeys.url.rpartition('@')[2]}"
