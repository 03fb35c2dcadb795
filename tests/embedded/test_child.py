"""A child process and the ways it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.embedded.owners import SOURCE, are_gone
from tests.until import until
from windlass.embedded import processes
from windlass.embedded.child import Child, Order

# Says so when it listens to signals, counts SIGTERM, and ends by SIGINT with code 3.
STUBBORN = """
import signal, sys
def no(*_):
    print("no", flush=True)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # of two that wait it would be the first
signal.signal(signal.SIGTERM, no)
signal.signal(signal.SIGINT, lambda *_: sys.exit(3))
print("ready", flush=True)
while True: signal.pause()
"""


OWNER = """
import signal, sys
from pathlib import Path
from windlass.embedded import processes
from windlass.embedded.child import Child, Order
folder = Path(sys.argv[1])
child = Child.start(Order(argv=("/bin/sleep", "600"), cwd=folder, account=None,
    log_path=folder / "log" / "x.log", death_signal=signal.SIGKILL))
print(child.pid, flush=True)
sys.stdin.read()
"""


def order(folder: Path, *argv: str) -> Order:
    return Order(
        argv=argv,
        cwd=folder,
        log_path=folder / "log" / "child.log",
        account=None,
        death_signal=signal.SIGKILL,
    )


async def stubborn(folder: Path) -> Child:
    child = Child.start(order(folder, sys.executable, "-I", "-S", "-c", STUBBORN))
    await until(lambda: "ready" in said(folder))
    return child


def said(folder: Path) -> str:
    return (folder / "log" / "child.log").read_text()


def signals(pid: int, which: str) -> int:
    """A set of signals of a process, one bit each, as /proc shows it.

    32 and 33 are libc's own: whoever started the tests may ignore them, and no program can tell.
    """
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith(f"{which}:")]
    return int(line.split()[1], 16) & ~(0b11 << 31)


@contextmanager
def owner_of_a_sleeper(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has started a child and printed its number."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, folder],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        yield owner
        owner.kill()


async def test_its_exit_code_and_its_words_are_kept(tmp_path: Path) -> None:
    child = Child.start(order(tmp_path, "/bin/sh", "-c", "echo out; echo err >&2; exit 7"))
    assert await child.wait() == 7
    assert child.exit_code == 7
    assert said(tmp_path) == "out\nerr\n"


async def test_it_is_reaped_without_being_asked_after(tmp_path: Path) -> None:
    child = Child.start(order(tmp_path, "/bin/true"))
    await until(lambda: not Path(f"/proc/{child.pid}").exists())


async def test_it_has_a_session_of_its_own_so_ctrl_c_is_not_for_it(tmp_path: Path) -> None:
    child = await stubborn(tmp_path)
    assert os.getsid(child.pid) == child.pid != os.getsid(0)
    await child.kill()


async def test_signals_that_we_ignore_or_block_reach_it(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        child = Child.start(order(tmp_path, "/bin/sleep", "600"))
    finally:
        signal.signal(signal.SIGINT, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
    await until(lambda: "sleep" in Path(f"/proc/{child.pid}/comm").read_text())
    assert signals(child.pid, "SigBlk") == 0
    assert signals(child.pid, "SigIgn") == 0
    await child.kill()


async def test_stopping_goes_from_step_to_step(tmp_path: Path) -> None:
    child = await stubborn(tmp_path)
    await child.stop((signal.SIGTERM, 0.05), (signal.SIGINT, 10.0))
    assert child.exit_code == 3
    assert said(tmp_path) == "ready\nno\n"


async def test_after_the_last_step_it_is_killed(tmp_path: Path) -> None:
    child = await stubborn(tmp_path)
    await child.stop((signal.SIGTERM, 0.05))
    assert child.exit_code == -signal.SIGKILL


async def test_what_it_forked_is_killed_with_it(tmp_path: Path) -> None:
    script = "sh -c 'setsid sleep 600 & echo ready; wait' & wait"
    child = Child.start(order(tmp_path, "/bin/sh", "-c", script))
    await until(lambda: "ready" in said(tmp_path))
    offspring = processes.descendants_of(child.pid)
    assert len(offspring) == 2
    await child.kill()
    assert not any(process.is_alive() for process in offspring)


async def test_a_program_that_is_not_there_is_an_exit_code_and_a_line_in_the_log(
    tmp_path: Path,
) -> None:
    child = Child.start(order(tmp_path, "/no/such/program"))
    assert await child.wait() == 1
    assert "No such file or directory" in said(tmp_path)


async def test_a_working_directory_that_is_not_there_is_an_error_at_once(tmp_path: Path) -> None:
    wrong = Order(
        argv=("/bin/true",),
        cwd=tmp_path / "missing",
        log_path=tmp_path / "log" / "child.log",
        account=None,
        death_signal=signal.SIGKILL,
    )
    with pytest.raises(FileNotFoundError):
        Child.start(wrong)


async def test_it_outlives_the_thread_that_asked_for_it(tmp_path: Path) -> None:
    # The kernel ties the death signal to the thread that forks.
    children: list[Child] = []
    asking = threading.Thread(
        target=lambda: children.append(Child.start(order(tmp_path, "/bin/sleep", "600")))
    )
    asking.start()
    asking.join()
    assert not await children[0].ends_within(0.1)
    await children[0].kill()


async def test_it_does_not_outlive_our_process(tmp_path: Path) -> None:
    with owner_of_a_sleeper(tmp_path) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        await until(lambda: "sleep" in Path(f"/proc/{pid}/comm").read_text())
        owner.kill()
    await until(lambda: are_gone([pid]))


async def test_our_secrets_are_not_in_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDLASS_SECRET_KEY", "hush")
    child = Child.start(order(tmp_path, "/usr/bin/env"))
    await child.wait()
    assert "LC_ALL=C" in said(tmp_path)
    assert "hush" not in said(tmp_path)
