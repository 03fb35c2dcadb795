"""What the figures are measured on: one durable PostgreSQL and one Valkey for the whole run.

The limits and the peers have a schema each in a database that stays. Every measurement of
Windlass has a database of its own, gone afterwards, so that none pays for another's rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.limits import RUN_SECONDS_MAX
from benchmarks.measure import Run, Series, interleave
from benchmarks.scale import Scale
from windlass.testing.servers import PrivateServers

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    servers: PrivateServers
    bare_dsn: str  # for whatever is not Windlass
    scale: Scale
    tell: Callable[[str], None]

    @property
    def redis_url(self) -> str:
        return self.servers.redis_url

    @asynccontextmanager
    async def database(self) -> AsyncIterator[str]:
        """The DSN of an empty database that is dropped on leaving."""
        dsn = await self.servers.create_database()
        try:
            yield dsn
        finally:
            await self.servers.drop_database(dsn)

    async def interleave(self, runs: Sequence[Run]) -> dict[str, Series]:
        return await interleave(runs, rounds=self.scale.rounds, tell=self.tell)

    async def repeat(
        self, name: str, once: Callable[[], Awaitable[Answer]], show: Callable[[Answer], str]
    ) -> list[Answer]:
        """The same thing once a round, for what gives more than one number."""
        answers = []
        for number in range(1, self.scale.rounds + 1):
            async with asyncio.timeout(RUN_SECONDS_MAX):
                answers.append(await once())
            self.tell(f"{number}/{self.scale.rounds} {name}: {show(answers[-1])}")
        return answers

    async def take_turns(
        self,
        runs: Mapping[str, Callable[[], Awaitable[Answer | None]]],  # None: not on this machine
        show: Callable[[Answer], str],
    ) -> dict[str, list[Answer]]:
        """Several things in turns, for what gives more than one number (see `interleave`)."""
        taken: dict[str, list[Answer]] = {name: [] for name in runs}
        for number in range(1, self.scale.rounds + 1):
            for name in [name for name in runs if name in taken]:
                async with asyncio.timeout(RUN_SECONDS_MAX):
                    answer = await runs[name]()
                if answer is None:
                    del taken[name]
                else:
                    taken[name].append(answer)
                    self.tell(f"{number}/{self.scale.rounds} {name}: {show(answer)}")
        return taken
