"""Starting `owner.py` from a test, and looking at what became of processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from windlass.embedded import processes
from windlass.embedded.account import Account
from windlass.embedded.child import Order

SCRIPT = Path(__file__).with_name("owner.py")
SOURCE = Path(__file__).parents[2] / "src"
PATIENCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What an owner told about its servers."""

    process: subprocess.Popen[str]
    answers: list[object]
    pids: list[int]


@contextmanager
def running_owner(data: Path, *statements: str) -> Iterator[subprocess.Popen[str]]:
    """In the end it stops in good order, unless it was killed before."""
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), str(data), *statements],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.communicate("", timeout=PATIENCE_SECONDS)


@contextmanager
def spawned(order: Order) -> Iterator[subprocess.Popen[bytes]]:
    """A server that runs as an orphan does: without the signal that ends it with its owner."""
    account = order.account
    with tempfile.TemporaryFile() as stdin:
        stdin.write(order.stdin)
        stdin.seek(0)
        with _orphan(order, account, stdin) as process:
            try:
                yield process
            finally:
                process.kill()


def _orphan(order: Order, account: Account | None, stdin: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        order.argv,
        cwd=order.cwd,
        stdin=stdin,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
        env={"LC_ALL": "C"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def story_of(process: subprocess.Popen[str]) -> Story:
    """Waits for the line that an owner prints once its servers answer."""
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    return Story(process=process, answers=told["answers"], pids=told["pids"])


def are_gone(pids: list[int]) -> bool:
    return all(processes.find(pid) is None for pid in pids)
