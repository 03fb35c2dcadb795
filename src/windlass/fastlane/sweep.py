"""The sweep: garbage collection in Redis of what dead coordinators left there, and nothing else.

    set of beats --by score--> stale? --in batches--> judge --dead--> keys unlinked --> forgotten
    SCAN (if asked) --exact id--^         (by beat)    `--lives, or cannot be read: left alone

Promises: a coordinator that beats is never touched, whenever it does; an unreadable beat is never
a reason to delete. A key goes only by its exact name, so `c-1` cannot take `c-10` along. Keys go
before their entry in the set of beats: a sweep that is cut off is finished by the next one.
Never: one long call. The set of beats lies in another slot than what a coordinator owns, so no call
touches both, and all of this works on a Cluster.
"""

from __future__ import annotations

import contextlib
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from redis.asyncio import RedisCluster
from redis.exceptions import ResponseError

from windlass.fastlane.keys import PREFIX, SWEPT
from windlass.fastlane.sweep_judge import BEATS, ID, OWNED, Judge, StaleCoordinator, Terms
from windlass.fastlane.sweep_pipelined import Pipelined
from windlass.fastlane.sweep_scripted import Scripted, may_script
from windlass.limits import SWEEP_BATCH, SWEEP_FORGET_BATCH, SWEEP_NAMES_MAX, SWEEP_PAGE


@dataclass(slots=True, kw_only=True)
class Swept:
    mode: Literal["scripted", "pipelined"]
    checked: int
    stale: dict[bytes, None] = field(default_factory=dict)  # in the order they were found
    skipped: set[bytes] = field(default_factory=set)  # nobody can tell whether they live
    removed_keys: int = 0


async def sweep(
    client: Any, *, stale_seconds: float, is_dry_run: bool = False, is_scan: bool = False
) -> Swept:
    """Sweep once, with a client of one's own: this is nobody's hot path."""
    terms = Terms(
        cutoff_ms=await _now_ms(client) - stale_seconds * 1000,
        stale_seconds=stale_seconds,
        is_dry_run=is_dry_run,
    )
    judge: Judge = (Scripted if await may_script(client) else Pipelined)(client, terms)
    swept = Swept(mode=judge.mode, checked=await client.zcard(BEATS))
    silent = await _silent(client, terms.cutoff_ms)
    swept.skipped.update(one for one in silent if not ID.fullmatch(one))
    coordinators = {
        one: StaleCoordinator(id=one, is_dead_without_beat=True)
        for one in silent
        if ID.fullmatch(one)
    }
    if is_scan:
        for one, names in (await _scan(client, terms.cutoff_ms)).items():
            found = coordinators.get(one) or StaleCoordinator(id=one, is_dead_without_beat=False)
            swept.checked += one not in coordinators
            coordinators[one] = replace(found, names=tuple(names))
    await _work_through(client, judge, terms, deque(coordinators.values()), swept)
    return swept


async def say_swept(client: Any) -> None:
    """Tell the nodes that a sweep has ended. Who may not publish there has swept all the same."""
    with contextlib.suppress(ResponseError):
        await client.publish(SWEPT, b"")


async def _work_through(
    client: Any, judge: Judge, terms: Terms, waiting: deque[StaleCoordinator], swept: Swept
) -> None:
    gone: list[bytes] = []
    while waiting:
        batch = [waiting.popleft() for _ in range(min(SWEEP_BATCH, len(waiting)))]
        batch = await _still_silent(client, batch, terms.cutoff_ms)
        if not batch:
            continue
        again: list[StaleCoordinator] = []
        for coordinator, verdict in zip(batch, await judge.judge(batch), strict=True):
            swept.removed_keys += verdict.keys
            match verdict.word:
                case "dead" if rest := coordinator.names[SWEEP_NAMES_MAX:]:
                    again.append(replace(coordinator, names=rest, is_dead_without_beat=True))
                case "dead":
                    swept.stale[coordinator.id] = None
                    gone.append(coordinator.id)
                case "more":
                    again.append(replace(coordinator, is_dead_without_beat=True))
                case "later":
                    again.append(coordinator)
                case "unreadable" | "unknown" | "moving":
                    swept.skipped.add(coordinator.id)
                case "kept":
                    pass
        waiting.extendleft(reversed(again))
        if len(gone) >= SWEEP_FORGET_BATCH and not terms.is_dry_run:
            await judge.forget(gone)
            gone = []
    if gone and not terms.is_dry_run:
        await judge.forget(gone)


async def _still_silent(
    client: Any, batch: list[StaleCoordinator], cutoff_ms: float
) -> list[StaleCoordinator]:
    """Without those who have beaten while they waited to be judged."""
    scores = await client.zmscore(BEATS, [one.id for one in batch])
    return [
        one for one, score in zip(batch, scores, strict=True) if score is None or score <= cutoff_ms
    ]


async def _silent(client: Any, cutoff_ms: float) -> dict[bytes, None]:
    """Everybody whose last beat is at most `cutoff_ms`.

    The next page begins with the last score of this one, because others leave and join meanwhile;
    only a page that is all of one score is left behind by its length.
    """
    found: dict[bytes, None] = {}
    low, skip = float("-inf"), 0
    while True:
        page = await client.zrangebyscore(
            BEATS, low, cutoff_ms, start=skip, num=SWEEP_PAGE, withscores=True
        )
        found |= dict.fromkeys(one for one, _ in page)
        if len(page) < SWEEP_PAGE:
            return found
        last = page[-1][1]
        skip = skip + SWEEP_PAGE if last == low else (SWEEP_PAGE if page[0][1] == last else 0)
        low = last


async def _scan(client: Any, cutoff_ms: float) -> dict[bytes, set[bytes]]:
    """All keys of coordinators that are not known to live, by exact id."""
    found: dict[bytes, set[bytes]] = {}
    page: dict[bytes, set[bytes]] = {}
    count = 0
    async for name in client.scan_iter(match=PREFIX + "coord:*", count=SWEEP_PAGE):
        if owned := OWNED.fullmatch(name):
            page.setdefault(owned[1], set()).add(name)
        count += 1
        if count % SWEEP_PAGE == 0:
            await _gather(client, cutoff_ms, page, found)
            page = {}
    await _gather(client, cutoff_ms, page, found)
    return found


async def _gather(
    client: Any,
    cutoff_ms: float,
    page: dict[bytes, set[bytes]],
    found: dict[bytes, set[bytes]],
) -> None:
    if not page:
        return
    for one, score in zip(page, await client.zmscore(BEATS, list(page)), strict=True):
        if score is None or score <= cutoff_ms:
            found.setdefault(one, set()).update(page[one])


async def _now_ms(client: Any) -> float:
    """By the server that keeps the beats."""
    where: dict[str, Any] = {}
    if isinstance(client, RedisCluster):
        await client.initialize()  # who that is, it does not know before its first call
        where["target_nodes"] = client.get_node_from_key(BEATS.decode())
    told = await client.time(**where)
    # A Cluster answers by the name of the server.
    [(seconds, micros)] = told.values() if isinstance(told, dict) else [told]
    return float(seconds * 1000 + micros // 1000)
