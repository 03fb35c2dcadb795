"""Pauses at random: a process far down is stopped and goes on, and the command ends as it would."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import psutil
import pytest

from tests import paused
from tests.house.repository import ROOT
from tests.until import until

# A grandchild that says that it is there, and waits; its parent ends at once.
ORPHAN = "sleep 60 >/dev/null & echo $!"


def test_a_child_is_found_when_its_parent_has_gone(tmp_path: Path) -> None:
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    with subprocess.Popen(
        ["bash", "-c", f"({ORPHAN}; read < {fifo}) ; read < {fifo}"],
        stdout=subprocess.PIPE,
        text=True,
    ) as command:
        assert command.stdout is not None
        orphan = psutil.Process(int(command.stdout.readline()))
        family = paused.Family(command.pid)
        try:
            assert orphan in family.alive()
            fifo.write_text("\n")  # the parent goes
            assert orphan in family.alive()
            command.kill()
            command.wait()
            assert family.alive() == [orphan]
        finally:
            orphan.kill()


@pytest.fixture
def process() -> Iterator[psutil.Process]:
    with subprocess.Popen(["sleep", "60"]) as command:
        try:
            yield psutil.Process(command.pid)
        finally:
            command.kill()


async def test_what_was_paused_goes_on(process: psutil.Process) -> None:
    log = StringIO()
    # `exec` lets us go on a moment before the process has its new arguments.
    await until(lambda: process.cmdline() == ["sleep", "60"])
    paused.pause(process, random.Random(1), log)
    assert f"{process.pid} sleep 60" in log.getvalue()
    await until(lambda: process.status() != psutil.STATUS_STOPPED)


async def test_what_somebody_else_has_stopped_stays_so(process: psutil.Process) -> None:
    log = StringIO()
    process.send_signal(signal.SIGSTOP)
    await until(lambda: process.status() == psutil.STATUS_STOPPED)
    paused.pause(process, random.Random(1), log)
    assert log.getvalue() == ""
    assert process.status() == psutil.STATUS_STOPPED


@pytest.mark.slow
def test_the_commands_exit_code_is_ours_and_pauses_are_told(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.paused", "bash", "-c", "sleep 8; exit 7"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PAUSED_SEED": "3"}
    ended = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=90
    )
    assert (ended.returncode, ended.stdout) == (7, "pauses at random, seed 3\n")
    assert " s " in tmp_path.joinpath("paused.log").read_text()
