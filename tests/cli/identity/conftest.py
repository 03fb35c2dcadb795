"""The command line with a place of its own to keep logins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Windlass


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where logins are kept, and no key of this machine is found."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config"


@pytest.fixture
def person(windlass: Windlass, config: Path, monkeypatch: pytest.MonkeyPatch) -> Windlass:
    """The command line of somebody who was given no key."""
    monkeypatch.delenv("WINDLASS_TOKEN")
    return windlass
