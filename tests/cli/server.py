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
    token: str  # empty: it was made by an earlier start
    password: str  # one-time, of the user admin; empty: it was made by an earlier start
    data: Path
    said: str  # until it was ready


def clean_environment(**added: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")}
    return {**kept, **added}


@contextmanager
def running_server(folder: Path, *, is_first: bool = True) -> Iterator[Server]:
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
            yield _ready(process, folder, is_first)
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_SECONDS) == 0
        finally:
            process.kill()


def _ready(process: subprocess.Popen[str], folder: Path, is_first: bool) -> Server:
    assert process.stdout is not None
    told: dict[str, str] = {}
    said = ""
    for line in process.stdout:
        said += line
        name, _, value = line.partition(": ")
        told[name] = value.strip()
        if name == "ready":
            assert is_first == ("admin key" in told), said
            return Server(
                url=told["ready"],
                token=told.get("admin key", ""),
                password=told.get("admin login", "").rpartition(" ")[2],
                data=folder / "data",
                said=said,
            )
    log = (folder / "up.log").read_text()
    raise AssertionError(f"windlass up ended before it was ready:\n{log}")
