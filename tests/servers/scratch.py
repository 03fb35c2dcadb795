"""A folder for servers that may run as another user than we do: they pass through, and see it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_folder(*homes: str) -> Iterator[Path]:
    """Below the system's own, because a socket's path must be short; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="windlass-engines-"))
    try:
        for one in (folder, *(folder / home for home in homes)):
            one.mkdir(exist_ok=True)
            one.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder)
