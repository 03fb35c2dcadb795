"""A peer to talk to, and the command line in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import structlog

from tests.cli.peer import Peer, running_peer
from windlass.cli.launch import launch


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Windlass = Callable[..., Ended]


@pytest.fixture
def peer() -> Iterator[Peer]:
    with running_peer() as found:
        yield found


@pytest.fixture
def log_elsewhere() -> Iterator[None]:
    """What other threads of this process log is not what a command says: nodes of earlier tests,
    for example, that PostgreSQL is back.
    """
    before = structlog.get_config()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    yield
    structlog.configure(**before)


@pytest.fixture
def windlass(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    peer: Peer,
    log_elsewhere: None,
) -> Windlass:
    """Run a command line against the peer, as `windlass("job", "ls")`."""
    for name in [name for name in os.environ if name.startswith("WINDLASS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("WINDLASS_URL", peer.url)
    monkeypatch.setenv("WINDLASS_TOKEN", "wlk_test")

    def run(*words: str) -> Ended:
        capsys.readouterr()
        code = launch(words)
        said = capsys.readouterr()
        return Ended(code=code, out=said.out, err=said.err)

    return run
