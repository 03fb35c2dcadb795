"""Run the suite; what fails is run once more, alone, on servers of its own.

A test that fails again is a fault, and the run is red. One that passes then is left to luck, which
is a fault too: the run is green, its last lines are `FLAKY <test>`, and the cause is looked for
next (tests/flaky.md). When many fail at once, luck is not what it is: nothing is run again.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

AGAIN_MAX: Final = 10
AGAIN_SECONDS: Final = 900


KEEP: Final = "--keep-durations"
SHOW_CPU: Final = "--show-cpu"  # which files are worth making cheaper
SHOWN_MAX: Final = 30
DURATIONS: Final = Path(__file__).parent / "durations.tsv"
SHORT_SECONDS: Final = 1.0  # what takes less is not worth a line


class Durations:
    """A plugin of pytest: how long each file took, set-up and tear-down included; and how much time
    of a processor, in the process that ran it and in the children that have ended.
    """

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.cpu_seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.location[0].removeprefix("tests/")
        self.seconds[name] += report.duration
        self.cpu_seconds[name] += sum(
            float(str(value)) for key, value in report.user_properties if key == "cpu_seconds"
        )

    def keep(self) -> None:
        """The table that tests/conftest.py puts the files in order by."""
        lines = [
            f"{name}\t{took:.1f}\n"
            for name, took in sorted(self.seconds.items(), key=lambda row: -row[1])
            if took >= SHORT_SECONDS
        ]
        DURATIONS.write_text("".join(lines))

    def show_cpu(self) -> None:
        rows = sorted(self.cpu_seconds.items(), key=lambda row: -row[1])
        print(f"\nprocessor seconds: {sum(self.cpu_seconds.values()):.1f}")
        for name, took in rows[:SHOWN_MAX]:
            print(f"{took:8.1f} {name}")


class Failures:
    """A plugin of pytest: which tests have failed, in the order in which it was heard of."""

    def __init__(self) -> None:
        self.tests: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tests[report.nodeid] = None


def main(arguments: Sequence[str]) -> int:
    failures, durations = Failures(), Durations()
    given = [argument for argument in arguments if argument not in (KEEP, SHOW_CPU)]
    code = int(pytest.main(given, plugins=[failures, durations]))
    if KEEP in arguments:
        durations.keep()
    if SHOW_CPU in arguments:
        durations.show_cpu()
    if code != pytest.ExitCode.TESTS_FAILED or not 0 < len(failures.tests) <= AGAIN_MAX:
        return code
    flaky = [test for test in failures.tests if _passes_alone(test)]
    if len(flaky) < len(failures.tests):
        for test in failures.tests.keys() - set(flaky):
            print(f"FAILED TWICE {test}")
        return code
    for test in flaky:
        print(f"FLAKY {test}", flush=True)
    return 0


def _passes_alone(test: str) -> bool:
    print(f"\nonce more, alone: {test}", flush=True)
    command = [sys.executable, "-m", "pytest", "--quiet", test]
    try:
        return subprocess.run(command, check=False, timeout=AGAIN_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
