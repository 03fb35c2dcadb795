"""The files that belong to the repository, without what tools leave in a working folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

# What .gitignore names, and the history itself.
LEFT_BY_TOOLS = frozenset(
    {
        ".git",
        ".hypothesis",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".schemathesis",
        ".venv",
        ".windlass",
        "__pycache__",
        "build",
        "dist",
        "node_modules",
        "out",
    }
)


def files(root: Path = ROOT) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - LEFT_BY_TOOLS)
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield path


def text_of(path: Path) -> str | None:
    """The file's text, or None when it is not text."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
