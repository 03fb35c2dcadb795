"""`windlass bench`: what this machine, its PostgreSQL and Windlass can do, as ratios."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage, Stopped

app = App(name="bench", help="Measure this installation beside the bare limits of its servers.")


@app.command
def jobs(
    *,
    quick: Annotated[bool, Parameter(help="Smaller counts, one round; nothing is kept.")] = False,
    only: Annotated[
        tuple[str, ...], Parameter(metavar="NAME", help="Measure this one alone; may be repeated.")
    ] = (),
) -> int:
    """Measure the job engine on a private PostgreSQL and Valkey; about ten minutes.

    Every figure is measured in turns with a bare limit of the same servers and read as a ratio.
    Exit code 1 when one is not what it should be.
    """
    try:
        from benchmarks.jobs import PLAN, bench
    except ModuleNotFoundError as missing:
        raise Stopped(
            f"the benchmarks cannot be run here: there is no module {missing.name!r}; "
            "install windlass with its extra: pip install 'windlass[bench]'"
        ) from None
    if unknown := [name for name in only if name not in PLAN]:
        raise BadUsage(f"there is no figure {unknown[0]!r}; there are: {' '.join(PLAN)}")
    return bench(is_quick=quick, only=only)
