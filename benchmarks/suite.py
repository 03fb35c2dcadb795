"""A suite of figures: measure them one after the other, show them, keep them, judge them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic

import uvloop

from benchmarks.machine import Machine, describe
from benchmarks.measure import Figure
from benchmarks.report import save, show
from benchmarks.scale import FULL, QUICK, Scale
from benchmarks.stage import Stage
from windlass.telemetry.logs import configure_logs
from windlass.testing.servers import PrivateServers


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    name: str  # of its baseline too
    plan: Mapping[str, Callable[[Stage], Awaitable[list[Figure]]]]


def bench(
    suite: Suite, *, is_quick: bool = False, only: Sequence[str] = (), scale: Scale | None = None
) -> int:
    """Measure, print the table, keep a whole run as the baseline; 1 when a figure does not hold.

    `scale`: another than the whole or a quick look; nothing is kept then.
    """
    assert set(only) <= set(suite.plan), f"not figures: {set(only) - set(suite.plan)}"
    return uvloop.run(_bench(suite, scale or (QUICK if is_quick else FULL), list(only)))


async def _bench(suite: Suite, scale: Scale, only: list[str]) -> int:
    configure_logs("console")
    started = monotonic()
    figures, failed, machine = await measure(suite, scale, only or list(suite.plan))
    title = f"Windlass {suite.name}" + (" (a quick look)" if scale is QUICK else "")
    show(figures, machine, title=title)
    tell(f"took {monotonic() - started:.0f} s")
    if scale is FULL and not only and not failed:
        _keep(suite, figures, machine)
    for name in failed:
        tell(f"{name} could not be measured; see above")
    return 1 if failed or any(figure.holds is False for figure in figures) else 0


def _keep(suite: Suite, figures: list[Figure], machine: Machine) -> None:
    try:
        path = save(suite.name, figures, machine, taken_at=datetime.now(UTC))
    except OSError as trouble:  # installed where we may not write
        tell(f"not kept: {trouble}")
    else:
        tell(f"kept in {path.parent.name}/{path.name}")


async def measure(
    suite: Suite, scale: Scale, names: Sequence[str]
) -> tuple[list[Figure], list[str], Machine]:
    """The figures, the names of those that could not be measured, and the machine."""
    figures: list[Figure] = []
    failed: list[str] = []
    async with PrivateServers(durable=True) as servers:
        bare_dsn = await servers.create_database()
        stage = Stage(servers=servers, bare_dsn=bare_dsn, scale=scale, tell=tell)
        for name in names:
            tell(f"- {name}")
            try:
                figures += await suite.plan[name](stage)
            except Exception as failure:  # the others are worth having all the same
                tell(f"{name} failed: {_first(failure)!r}")
                failed.append(name)
        return figures, failed, await describe(bare_dsn)


def _first(failure: Exception) -> Exception:
    """What a task group wraps is what went wrong."""
    while isinstance(failure, ExceptionGroup):
        failure = failure.exceptions[0]
    return failure


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
