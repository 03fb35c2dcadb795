"""`windlass up` with several nodes, in an environment that others have written to as well."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.cli.server import STOP_SECONDS, clean_environment
from tests.house.test_config import INJECTED, OF_THE_PROXY
from tests.ports import free_port
from windlass.clock import monotonic
from windlass.embedded.binaries import postgres_bin_dir

PATIENCE_SECONDS = 60.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("windlass")


@pytest.fixture(scope="module")
def up(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Two nodes; its own PostgreSQL and Valkey lie in `data`."""
    command = [sys.executable, "-m", "windlass", "up", "--data", "data", "--nodes", "2"]
    mistyped = {"WINDLASS_LOG_FROMAT": "json"}
    elsewhere = {"WINDLASS_READ_DATABASE_URL": "postgresql://bob:canary@127.0.0.1:1/elsewhere"}
    with (
        (folder / "up.log").open("w") as log,
        subprocess.Popen(
            [*command, "--port", str(free_port())],
            cwd=folder,
            env=clean_environment(**INJECTED, **OF_THE_PROXY, **mistyped, **elsewhere),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            (folder / "key").write_text(_line(process, "admin key: ", folder).split(": ")[1])
            (folder / "address").write_text(_line(process, "ready: ", folder).split(": ")[1])
            yield process
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_SECONDS) == 0
        finally:
            process.kill()


def test_a_mistyped_variable_is_told_and_what_others_put_there_is_not(
    up: subprocess.Popen[str], folder: Path
) -> None:
    assert up.poll() is None
    told = [
        line for line in (folder / "up.log").read_text().splitlines() if "variable_ignored" in line
    ]
    # Once by each node.
    assert all(" WINDLASS_LOG_FROMAT is no setting and is ignored; " in line for line in told)
    assert all("did you mean WINDLASS_LOG_FORMAT?" in line for line in told)


def test_a_further_node_that_dies_is_told_and_begun_again(
    up: subprocess.Popen[str], folder: Path
) -> None:
    pid = _other_node(up, None)
    os.kill(pid, signal.SIGKILL)
    told = _line(up, "node 2 ", folder)
    assert told == f"node 2 (pid {pid}) was ended by SIGKILL; it is begun again"
    assert _other_node(up, pid) != pid
    assert "node_ended" in (folder / "up.log").read_text()


@pytest.mark.parametrize("output", ["table", "json"])
def test_the_doctor_looks_at_the_folder_it_was_given_and_says_so(
    up: subprocess.Popen[str], folder: Path, output: str
) -> None:
    assert up.poll() is None
    elsewhere = "postgresql://bob:canary@127.0.0.1:1/elsewhere"
    done = subprocess.run(
        [sys.executable, "-m", "windlass", "doctor", "--data", "data", "-o", output],
        cwd=folder,
        env=clean_environment(WINDLASS_DATABASE_URL=elsewhere),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    named = json.loads(done.stdout)["database"] if output == "json" else done.stdout
    assert str(folder / "data") in named
    assert "canary" not in done.stdout + done.stderr


def test_the_doctor_makes_no_database_where_there_is_none(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "windlass", "doctor", "--data", str(tmp_path)],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (done.returncode, f"there is none in {tmp_path}" in done.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_is_not_asked_to_look_at_two(folder: Path) -> None:
    both = ["--data", "data", "--database-url", "postgresql://db/x"]
    done = subprocess.run(
        [sys.executable, "-m", "windlass", "doctor", *both],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (done.returncode, "not both" in done.stderr) == (2, True)


def test_passwords_of_the_servers_are_seen_by_nobody_and_open_the_database(
    up: subprocess.Popen[str], folder: Path
) -> None:
    _other_node(up, None)
    kept = {path.name: path.read_text().strip() for path in (folder / "data/passwords").iterdir()}
    assert sorted(kept) == ["postgresql", "postgresql-admin", "valkey"]
    seen = [(folder / "up.log").read_text()]
    for child in psutil.Process(up.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            seen.append(" ".join(child.cmdline()))
    assert not any(password in text for password in kept.values() for text in seen)

    # As docs/tour.md and docs/operations.md do it.
    def ask(password: str) -> subprocess.CompletedProcess[str]:
        login = ["-h", str(folder / "data/postgresql"), "-U", "windlass", "-d", "windlass"]
        return subprocess.run(
            [postgres_bin_dir() / "psql", "-X", "-w", *login, "-Atc", "SELECT current_user"],
            env=clean_environment(PGPASSWORD=password),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    assert ask(kept["postgresql"]).stdout == "windlass\n"
    assert "no password supplied" in ask("").stderr


def test_lists_are_those_of_its_own_database(up: subprocess.Popen[str], folder: Path) -> None:
    """WINDLASS_READ_DATABASE_URL is set, and speaks of another one."""
    address = (folder / "address").read_text()
    key = (folder / "key").read_text()
    listing = [sys.executable, "-m", "windlass", "job", "ls", "--url", address, "--token", key]
    done = subprocess.run(
        listing,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "replica_not_used" not in (folder / "up.log").read_text()


def test_no_further_node_outlives_one_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "windlass", "up", "--data", "data", "--nodes", "2"]
    with (
        (tmp_path / "up.log").open("w") as log,
        subprocess.Popen(
            [*command, "--port", str(free_port())],
            cwd=tmp_path,
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            _line(process, "ready: ", tmp_path)
            other = psutil.Process(_other_node(process, None))
        finally:
            process.kill()
        try:
            other.wait(PATIENCE_SECONDS)
        finally:
            with contextlib.suppress(psutil.NoSuchProcess):
                other.kill()


def _other_node(up: subprocess.Popen[str], known: int | None) -> int:
    """The further node, once there is one that is not `known`."""
    deadline = monotonic() + PATIENCE_SECONDS
    while not (found := [pid for pid in _nodes_of(up) if pid != known]):
        assert monotonic() < deadline, "it is begun"
        time.sleep(0.05)
    return found[0]


def _nodes_of(up: subprocess.Popen[str]) -> list[int]:
    """The further nodes, which are processes of it."""
    found = []
    for child in psutil.Process(up.pid).children():
        try:
            if child.status() != psutil.STATUS_ZOMBIE and "node" in child.cmdline():
                found.append(child.pid)
        except psutil.NoSuchProcess:
            continue
    return found


def _line(process: subprocess.Popen[str], opening: str, folder: Path) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(opening):
            return line.strip()
    raise AssertionError(f"it ended before it said so:\n{(folder / 'up.log').read_text()}")
