"""requirements/setup.sh: what it says where a machine lacks something, in one sentence."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

from tests.house.repository import ROOT

# An interpreter that is as the test wants it; what it is asked stands in its arguments.
PYTHON = """\
#!/bin/sh
case "$*" in
{cases}
*--version*) echo Python 3.11.9 ;;
*sys.prefix*) exit 1 ;;
*) exit 0 ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    return tmp_path


def set_up(checkout: Path, cases: str = "", python: str = "python") -> list[str]:
    """What it says at last, its `setup:` taken away, after failing."""
    program = checkout / "python"
    program.write_text(PYTHON.format(cases=dedent(cases).strip()))
    program.chmod(0o755)
    ran = subprocess.run(
        ["requirements/setup.sh", "run", ".venv/.run-test"],
        cwd=checkout,
        env={**os.environ, "PYTHON": str(checkout / python)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 1
    assert not (checkout / ".venv" / ".run-test").exists()
    return [line.removeprefix("setup: ") for line in ran.stderr.splitlines()]


def test_without_python_it_says_which_one_to_install(checkout: Path) -> None:
    [said] = set_up(checkout, python="python9")
    assert said.endswith("python9 not found; install Python 3.11 or newer, or set PYTHON=…")


def test_an_old_python_is_named_with_its_version(checkout: Path) -> None:
    [said] = set_up(checkout, "--version) echo Python 3.8.2 ;;\n*version_info*) exit 1 ;;")
    assert said == "Python 3.8.2 is too old; Windlass needs 3.11 or newer (set PYTHON=…)"


def test_a_python_without_virtualenvs_is_told_what_to_install(checkout: Path) -> None:
    [said] = set_up(checkout, "*'import venv'*) exit 1 ;;")
    assert said.endswith("cannot make virtualenvs; on Debian or Ubuntu: apt install python3-venv")


def test_a_checkout_that_cannot_be_written_to_is_named(checkout: Path) -> None:
    (checkout / ".venv").write_text("in the way, as a folder of somebody else's would be")
    [said] = set_up(checkout)
    assert said.startswith(f"cannot write in {checkout}; give it to ")


def test_a_full_disk_is_told_as_one(checkout: Path) -> None:
    full = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    *_, said = set_up(checkout, f"*'pip --python '*install*) echo '{full}' >&2; exit 1 ;;")
    assert said.startswith(f"the disk is full: this takes up to 900 MB below {checkout}")
    assert said.endswith("make room and run make again")


def test_an_index_that_has_nothing_is_told_with_what_pip_said(checkout: Path) -> None:
    none = "ERROR: No matching distribution found for aiohappyeyeballs==2.7.1"
    *_, heard, said = set_up(checkout, f"*'pip --python '*install*) echo '{none}' >&2; exit 1 ;;")
    assert heard == none
    assert said.startswith("pip cannot find what requirements/run.lock names; is the package index")
