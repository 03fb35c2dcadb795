"""How the suite is run: a test that fails is asked once more, alone, and luck is named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.repository import ROOT

# Each starts pytest, once or twice.
pytestmark = pytest.mark.slow

BROKEN = "def test_that_is_broken():\n    assert False\n"
FINE = "def test_that_is_fine():\n    pass\n"
# Fails for the first who asks.
LUCKY = """
from pathlib import Path

def test_that_is_lucky():
    mark = Path(__file__).with_name("was here")
    if not mark.exists():
        mark.touch()
        raise RuntimeError("not the first time")
"""


def run(folder: Path, *options: str, **files: str) -> tuple[int, list[str]]:
    """The exit code of a suite of these files, and the lines it wrote."""
    folder.joinpath("pytest.ini").write_text("[pytest]\n")
    for name, text in files.items():
        folder.joinpath(f"test_{name}.py").write_text(text)
    command = [sys.executable, "-m", "tests.run", "-p", "no:cacheprovider", "-p", "xdist", *options]
    # Other plugins have no part in it, and take seconds to load.
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ended = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=100
    )
    return ended.returncode, ended.stdout.splitlines()


@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_test_that_passes_alone_is_named_flaky_and_the_run_is_green(
    tmp_path: Path, processes: str
) -> None:
    code, lines = run(tmp_path, "--numprocesses", processes, fine=FINE, lucky=LUCKY)
    assert code == 0
    assert lines[-1].startswith("FLAKY ")
    assert lines[-1].endswith("test_lucky.py::test_that_is_lucky")


def test_a_test_that_fails_twice_makes_the_run_red(tmp_path: Path) -> None:
    code, lines = run(tmp_path, fine=FINE, broken=BROKEN)
    assert code == 1
    assert lines[-1].endswith("test_broken.py::test_that_is_broken")
    assert lines[-1].startswith("FAILED TWICE ")


def test_luck_beside_a_fault_does_not_make_it_green(tmp_path: Path) -> None:
    code, lines = run(tmp_path, lucky=LUCKY, broken=BROKEN)
    assert code == 1
    assert not any(line.startswith("FLAKY") for line in lines)


def test_a_suite_without_failures_is_green_and_says_nothing_of_luck(tmp_path: Path) -> None:
    code, lines = run(tmp_path, fine=FINE)
    assert code == 0
    assert not any("FLAKY" in line or "once more" in line for line in lines)


def test_many_failures_are_not_luck(tmp_path: Path) -> None:
    many = "\n".join(f"def test_{n}():\n    assert False\n" for n in range(11))
    code, lines = run(tmp_path, many=many)
    assert code == 1
    assert not any("once more" in line for line in lines)


def test_a_suite_that_cannot_be_read_is_red(tmp_path: Path) -> None:
    code, _ = run(tmp_path, unreadable="import nothing_of_that_name\n")
    assert code == 2
