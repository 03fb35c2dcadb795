"""The peers' drains, as runs that can be taken in turns."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.limits import DRAIN_JOBS
from benchmarks.measure import Run, Series, interleave
from benchmarks.peers import graphile, pgqueuer


def peer_runs(
    dsn: str, *, jobs: int = DRAIN_JOBS, tell: Callable[[str], None] = print
) -> list[Run]:
    """The peers' drains, to be taken in turns with whatever they are compared to."""
    return [
        Run(name="PgQueuer", once=lambda: pgqueuer.measure(dsn, jobs=jobs, tell=tell)),
        Run(name="graphile-worker", once=lambda: graphile.measure(dsn, jobs=jobs, tell=tell)),
    ]


async def measure_peers(dsn: str, *, tell: Callable[[str], None] = print) -> dict[str, Series]:
    """The peers alone, in turns."""
    return await interleave(peer_runs(dsn, tell=tell), tell=tell)
