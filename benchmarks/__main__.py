"""All figures of jobs: `python -m benchmarks [--quick] [--only NAME]`."""

from __future__ import annotations

import argparse
import sys

from benchmarks.jobs import PLAN, bench


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller counts; nothing is kept")
    parser.add_argument(
        "--only", action="append", default=[], choices=list(PLAN), help="measure this one alone"
    )
    given = parser.parse_args()
    return bench(is_quick=given.quick, only=given.only)


if __name__ == "__main__":
    sys.exit(main())
