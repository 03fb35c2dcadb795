"""The lock of a data folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.embedded.owners import SOURCE
from windlass.embedded.errors import DataInUse, DataNotUsable
from windlass.embedded.servers import DataLock

# Takes the lock, forks a child that stays, and tells both numbers.
HOLDER = """
import os, signal, sys
from pathlib import Path
from windlass.embedded.servers import DataLock
lock = DataLock(Path(sys.argv[1]))
lock.acquire()
forked = os.fork()
if forked == 0:
    print(os.getpid(), flush=True)
    signal.pause()
sys.stdin.read()
"""


def test_a_lock_is_held_once_and_its_holder_is_named(tmp_path: Path) -> None:
    first, second = DataLock(tmp_path), DataLock(tmp_path)
    first.acquire()
    with pytest.raises(DataInUse) as refused:
        second.acquire()
    assert refused.value.holder == str(os.getpid())
    first.release()
    second.acquire()
    second.release()


def test_releasing_what_is_not_held_is_harmless(tmp_path: Path) -> None:
    DataLock(tmp_path).release()


def test_a_file_left_behind_means_nothing(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("1\n")
    lock = DataLock(tmp_path)
    lock.acquire()
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    lock.release()


def test_the_lock_dies_with_its_holder_even_if_a_forked_child_lives_on(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        forked = int(holder.stdout.readline())
        lock = DataLock(tmp_path)
        with pytest.raises(DataInUse, match=f"in use by process {holder.pid}"):
            lock.acquire()
        holder.kill()
        holder.wait()
        try:
            os.kill(forked, 0)
            lock.acquire()
            lock.release()
        finally:
            os.kill(forked, 9)


def test_a_lock_that_cannot_be_opened_is_an_error_that_names_the_folder(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("elsewhere")
    with pytest.raises(DataNotUsable, match="its lock file cannot be opened"):
        DataLock(tmp_path).acquire()
    assert not (tmp_path / "elsewhere").exists()
