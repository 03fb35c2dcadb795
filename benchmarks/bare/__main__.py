"""The bare speeds alone: `python -m benchmarks.bare [DSN]`."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

import uvloop

from benchmarks.bare import drain, echo, insert
from benchmarks.database import database
from benchmarks.machine import describe
from benchmarks.measure import Run, absolute, interleave
from benchmarks.report import save, show


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bare", description=__doc__)
    parser.add_argument(
        "dsn",
        nargs="?",
        help="a PostgreSQL whose schemas bare_* may be dropped (else a private one)",
    )
    parser.add_argument("--save", action="store_true", help="keep the figures as a baseline")
    given = parser.parse_args()
    async with database(given.dsn) as dsn:
        series = await interleave(
            [
                Run(name="bare claim and complete", once=lambda: drain.measure(dsn)),
                Run(name="bare unnest insert", once=lambda: insert.measure(dsn)),
                Run(name="echo route", once=echo.measure),
            ],
            tell=print,
        )
        figures = [absolute(one) for one in series.values()]
        machine = await describe(dsn)
        show(figures, machine, title="Bare limits")
        if given.save:
            save("bare", figures, machine, taken_at=datetime.now(UTC))


if __name__ == "__main__":
    uvloop.run(main())
