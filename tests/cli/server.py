"""A real `windlass up` for the tests that go all the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.ports import free_port

STOP_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    url: str
    token: str


def clean_environment(**added: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")}
    return {**kept, **added}


@contextmanager
def running_server(folder: Path) -> Iterator[Server]:
    """Started in `folder`, and stopped in order at the end."""
    command = [sys.executable, "-m", "windlass", "up", "--port", str(free_port()), "--data", "data"]
    with (
        (folder / "up.log").open("w") as log,
        subprocess.Popen(
            command,
            cwd=folder,
            env=clean_environment(WINDLASS_EGRESS_ALLOW="127.0.0.0/8"),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            yield _ready(process, folder / "up.log")
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_SECONDS) == 0
        finally:
            process.kill()


def _ready(process: subprocess.Popen[str], log: Path) -> Server:
    assert process.stdout is not None
    told: dict[str, str] = {}
    for line in process.stdout:
        name, _, value = line.partition(": ")
        told[name] = value.strip()
        if name == "ready":
            return Server(url=told["ready"], token=told["admin key"])
    raise AssertionError(f"windlass up ended before it was ready:\n{log.read_text()}")
