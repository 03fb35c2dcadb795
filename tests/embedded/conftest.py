"""Folders to put servers in."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _nothing_is_kept(tmp_path: Path) -> Iterator[None]:
    """A cluster takes 40 MB, and pytest keeps the folders of its last runs."""
    yield
    shutil.rmtree(tmp_path)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder that is not there yet. When root runs the tests, the folders above it are mode 0700,
    so that the servers' account cannot walk to it."""
    return tmp_path / "data"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder with a short name that everybody can walk to."""
    folder = Path(tempfile.mkdtemp(prefix="windlass-open-", dir="/tmp")).resolve()
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
