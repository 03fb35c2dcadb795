"""The peers alone: `python -m benchmarks.peers [DSN]`."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

import uvloop

from benchmarks.database import database
from benchmarks.machine import describe
from benchmarks.measure import absolute
from benchmarks.peers.runs import measure_peers
from benchmarks.report import save, show


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument(
        "dsn",
        nargs="?",
        help="a PostgreSQL whose schemas peer_* may be dropped (else a private one)",
    )
    parser.add_argument("--save", action="store_true", help="keep the figures as a baseline")
    given = parser.parse_args()
    async with database(given.dsn) as dsn:
        series = await measure_peers(dsn)
        figures = [absolute(one, name=f"drain by {name}") for name, one in series.items()]
        machine = await describe(dsn)
        show(figures, machine, title="Peers")
        if given.save:
            save("peers", figures, machine, taken_at=datetime.now(UTC))


if __name__ == "__main__":
    uvloop.run(main())
