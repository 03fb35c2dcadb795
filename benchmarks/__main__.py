"""All figures: `python -m benchmarks [--quick] [--only NAME]`."""

from __future__ import annotations

import argparse
import sys

from benchmarks.suite import bench
from benchmarks.suites.cluster import CLUSTER
from benchmarks.suites.door import DOOR
from benchmarks.suites.held import HELD
from benchmarks.suites.jobs import JOBS
from benchmarks.suites.peers import PEERS
from benchmarks.suites.refresh import REFRESH
from benchmarks.suites.schedules import SCHEDULES
from benchmarks.suites.sdk import SDK
from benchmarks.suites.start import START
from benchmarks.suites.sweep import SWEEP
from benchmarks.suites.versus import VERSUS
from benchmarks.suites.webhooks import WEBHOOKS
from benchmarks.suites.workflows import WORKFLOWS

# These are all; those are measured only for whoever names what they are measured beside.
SUITES = (
    JOBS,
    WEBHOOKS,
    CLUSTER,
    SWEEP,
    WORKFLOWS,
    REFRESH,
    SCHEDULES,
    SDK,
    PEERS,
    START,
    DOOR,
    HELD,
)
ASKED = (VERSUS,)
NAMES = [name for suite in SUITES for name in suite.plan]
ALL_NAMES = [*NAMES, *(name for suite in ASKED for name in suite.plan)]
assert len(set(ALL_NAMES)) == len(ALL_NAMES), "two figures of one name"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller counts; nothing is kept")
    parser.add_argument(
        "--only", action="append", default=[], choices=NAMES, help="measure this one alone"
    )
    given = parser.parse_args()
    codes = []
    for suite in SUITES:
        only = [name for name in given.only if name in suite.plan]
        if only or not given.only:
            codes.append(bench(suite, is_quick=given.quick, only=only))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
