"""`windlass bench`: what this machine, its PostgreSQL and Windlass can do, as ratios."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final

from cyclopts import App, Parameter
from cyclopts.validators import Number

from windlass.cli.exits import BadUsage, Stopped

app = App(name="bench", help="Measure this installation beside the bare speed of its servers.")


_SECONDS: Final = Number(gte=1, lte=60)
# Where the benchmarks are: in an installed wheel, or beside the source of a checkout.
_HOMES: Final = (Path(__file__).parents[2] / "bundled", Path(__file__).parents[4])
Quick = Annotated[bool, Parameter(help="Smaller counts, one round; nothing is kept.")]
Only = Annotated[
    tuple[str, ...], Parameter(metavar="NAME", help="Measure this one alone; may be repeated.")
]


@app.command
def jobs(*, quick: Quick = False, only: Only = ()) -> int:
    """Measure the job engine on a private PostgreSQL and Valkey; about ten minutes.

    Every figure is measured in turns with a bare speed of the same servers and read as a ratio.
    Exit code 1 when one is not what it should be.
    """
    return _bench("jobs", quick, only)


@app.command
def webhooks(*, quick: Quick = False, only: Only = ()) -> int:
    """Measure deliveries to receivers of its own on this machine; about ten minutes.

    To a fast one beside a bare client, beside a dead one, to one that drips and to one without end.
    Exit code 1 when a figure is not what it should be.
    """
    return _bench("webhooks", quick, only)


@app.command
def cluster(*, quick: Quick = False, only: Only = ()) -> int:
    """Measure several nodes: who leads next, resizes under load, two beside one; six minutes.

    Exit code 1 when a figure is not what it should be.
    """
    return _bench("cluster", quick, only)


@app.command
def sweep(*, quick: Quick = False, only: Only = ()) -> int:
    """Measure the sweep of dead coordinators, 10,000 and 50,000 of them; about a minute.

    While a hundred others beat and somebody pings. Exit code 1 when a figure is not what it should
    be.
    """
    return _bench("sweep", quick, only)


@app.command
def workflows(*, quick: Quick = False, only: Only = ()) -> int:
    """Measure executions on two nodes: chains, fan-outs, from step to step; about six minutes.

    Beside the drain of single jobs and beside BullMQ in the same run. Exit code 1 when a figure is
    not what it should be.
    """
    return _bench("workflows", quick, only)


@app.command
def refresh(*, quick: Quick = False, only: Only = ()) -> int:
    """Measure how two nodes bring a million executions up to date; about ten minutes.

    Beside one bare GROUP BY + UPDATE over the same rows, and after one of them is killed. Exit code
    1 when a figure is not what it should be.
    """
    return _bench("refresh", quick, only)


@app.command
def schedules(*, quick: Quick = False, only: Only = ()) -> int:
    """Measure schedules: 100,000 due in one second, 10,000 a minute, leaders killed; half an hour.

    None may be missed and none fired twice. Exit code 1 when a figure is not what it should be.
    """
    return _bench("schedules", quick, only)


@app.command
def sdk(*, quick: Quick = False, only: Only = ()) -> int:
    """Measure the Python SDK: import, `map`, tasks, durable functions; about ten minutes.

    Beside the drain of noop jobs in the same run. Exit code 1 when a figure is not what it should
    be.
    """
    return _bench("sdk", quick, only)


@app.command
def peers(*, quick: Quick = False, only: Only = ()) -> int:
    """Measure a task's drain, and from call to start, beside other queues; about five minutes.

    PgQueuer, graphile-worker, Celery and BullMQ on the same servers, in turns. Exit code 1 when a
    figure is not what it should be.
    """
    return _bench("peers", quick, only)


@app.command
def start(*, quick: Quick = False, only: Only = ()) -> int:
    """Measure how soon a node has ended its first job, and what a command takes; a minute.

    From the start of the process, on servers that are there already. Exit code 1 when a figure is
    not what it should be.
    """
    return _bench("start", quick, only)


@app.command
def door(*, quick: Quick = False, only: Only = ()) -> int:
    """Measure a node beside callers who mean no good, a minute of each; about twenty minutes.

    Silent connections, heads and batches without end, hostile expressions and schemas: is
    `/health/live` quick, does memory grow, do others keep their rate? And what does it cost to know
    who calls (`--only auth`, half a minute)? Exit code 1 when a figure is not what it should be.
    """
    return _bench("door", quick, only)


@app.command
def held(
    *,
    seconds: Annotated[
        float, Parameter(help="How long each transaction is left open.", validator=_SECONDS)
    ] = 60.0,
    only: Annotated[
        tuple[str, ...],
        Parameter(metavar="TEXT", help="Only kinds and tables with this in it; may be repeated."),
    ] = (),
) -> int:
    """Measure everything beside a user's open transaction, of each kind and table; over an hour.

    A mixed load alone and beside each transaction in turns: does the rest keep its rate, is every
    schedule's firing there once? With `--seconds 5` it takes ten minutes. Exit code 1 when a figure
    is not what it should be.
    """
    return _bench("held", False, (), {"open_seconds": seconds, "open_names": only})


@app.command
def versus(
    other: Annotated[
        Path, Parameter(help="Another checkout of Windlass, in which `make setup` was run.")
    ],
    /,
    *,
    only: Only = (),
) -> int:
    """Measure this checkout beside another one, in turns on the same servers; eight minutes.

    From submit to start, single submits, batches, a drain: is it as quick as the other? Exit code 1
    when a figure is worse by more than five hundredths.
    """
    home = other.expanduser().resolve()
    if home in _HOMES:
        raise BadUsage(f"{str(other)!r} is this checkout itself; name another one")
    for needed in (home / "benchmarks" / "node.py", home / ".venv" / "bin" / "python"):
        if not needed.exists():
            raise BadUsage(f"{str(other)!r} has no {needed.name}; run `make setup` in a checkout")
    return _bench("versus", False, only, {"other": home})


def _bench(
    name: str,
    is_quick: bool,
    only: tuple[str, ...],
    changes: Mapping[str, Any] = MappingProxyType({}),
) -> int:
    for home in [str(home) for home in _HOMES if (home / "benchmarks").is_dir()][:1]:
        sys.path.append(home)
        known = os.environ.get("PYTHONPATH")  # for the processes that measure
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (home, known)))
    try:
        from benchmarks.__main__ import ASKED, SUITES
        from benchmarks.scale import FULL
        from benchmarks.suite import bench
    except ModuleNotFoundError as missing:
        raise Stopped(
            f"the benchmarks cannot be run here: there is no module {missing.name!r}; "
            "install windlass with its extra: pip install 'windlass[bench]'"
        ) from None
    [suite] = [suite for suite in (*SUITES, *ASKED) if suite.name == name]
    if unknown := [figure for figure in only if figure not in suite.plan]:
        raise BadUsage(f"there is no figure {unknown[0]!r}; there are: {' '.join(suite.plan)}")
    scale = replace(FULL, **changes)
    return bench(suite, is_quick=is_quick, only=only, scale=None if scale == FULL else scale)
