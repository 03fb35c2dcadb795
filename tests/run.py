"""Run the suite; what fails is run once more, alone, on servers of its own.

A test that fails again is a fault, and the run is red. One that passes then is left to luck, which
is a fault too: the run is green, its last lines are `FLAKY <test>`, and the cause is looked for
next (tests/flaky.md). When many fail at once, luck is not what it is: nothing is run again.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Final

import pytest

AGAIN_MAX: Final = 10
AGAIN_SECONDS: Final = 900


class Failures:
    """A plugin of pytest: which tests have failed, in the order in which it was heard of."""

    def __init__(self) -> None:
        self.tests: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tests[report.nodeid] = None


def main(arguments: Sequence[str]) -> int:
    failures = Failures()
    code = int(pytest.main(list(arguments), plugins=[failures]))
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
