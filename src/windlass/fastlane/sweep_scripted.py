"""Judging stale coordinators by Lua script: looked at and removed in one step.

So nobody can beat in between.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, Literal

from redis.asyncio import RedisCluster
from redis.exceptions import NoPermissionError, RedisError, ResponseError

from windlass.fastlane.lane import lua
from windlass.fastlane.sweep_judge import BEATS, MOVING, StaleCoordinator, Terms, Verdict, is_moving
from windlass.limits import SWEEP_CALLS_AT_ONCE, SWEEP_FORGET_BATCH, SWEEP_NAMES_MAX
from windlass.model.cluster.beat import BEAT_BYTES_MAX


async def may_script(client: Any) -> bool:
    """False: the server, or what we are allowed there, has no scripts."""
    try:
        await client.eval("return 1", 1, BEATS)
    except NoPermissionError:
        return False
    except ResponseError as refusal:
        if "unknown command" in str(refusal).lower():
            return False
        raise
    return True


class Scripted:
    mode: Final[Literal["scripted"]] = "scripted"

    def __init__(self, client: Any, terms: Terms) -> None:
        self._client = client
        self._terms = terms

    async def judge(self, coordinators: list[StaleCoordinator]) -> list[Verdict]:
        verdicts: list[Verdict] = []
        calls = self._calls(coordinators)
        for start in range(0, len(calls), SWEEP_CALLS_AT_ONCE):
            some = calls[start : start + SWEEP_CALLS_AT_ONCE]
            for told in await asyncio.gather(*(self._ask(call) for call in some)):
                verdicts += told
        return verdicts

    async def forget(self, ids: list[bytes]) -> None:
        for start in range(0, len(ids), SWEEP_FORGET_BATCH):
            some = ids[start : start + SWEEP_FORGET_BATCH]
            await self._run("sweep_forget", [BEATS], self._terms.cutoff_ms, *some)

    def _calls(self, coordinators: list[StaleCoordinator]) -> list[list[StaleCoordinator]]:
        """Whom one call may judge together: on a Cluster each has a slot of its own."""
        calls: list[list[StaleCoordinator]] = []
        may_join = False
        for coordinator in coordinators:
            is_plain = coordinator.is_dead_without_beat and not coordinator.names
            if is_plain and may_join:
                calls[-1].append(coordinator)
            else:
                calls.append([coordinator])
                may_join = is_plain and not isinstance(self._client, RedisCluster)
        return calls

    async def _ask(self, call: list[StaleCoordinator]) -> list[Verdict]:
        try:
            told = await self._run(
                "sweep_judge",
                [coordinator.prefix + b"beat" for coordinator in call],
                self._terms.cutoff_ms,
                "look" if self._terms.is_dry_run else "remove",
                SWEEP_NAMES_MAX,
                "dead" if call[0].is_dead_without_beat else "unknown",
                self._terms.stale_seconds,
                BEAT_BYTES_MAX,
                *call[0].names[:SWEEP_NAMES_MAX],
            )
        except RedisError as refusal:
            if not is_moving(refusal):
                raise
            return [MOVING] * len(call)
        return [
            Verdict(word=word.decode(), keys=keys)
            for word, keys in zip(told[::2], told[1::2], strict=True)
        ]

    async def _run(self, script: str, keys: list[bytes], *args: float | str | bytes) -> Any:
        # EVAL and not its digest: a failover or SCRIPT FLUSH on the way needs no second way then.
        return await self._client.eval(lua(script), len(keys), *keys, *args)
