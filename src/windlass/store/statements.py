"""The SQL statements, by the name of their file below sql/, in whatever room it stands."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def statement(name: str) -> str:
    return _texts()[name]


@cache
def _texts() -> dict[str, str]:
    return {
        entry.name.removesuffix(".sql"): entry.read_text(encoding="utf-8")
        for room in (files("windlass.store") / "sql").iterdir()
        if room.is_dir()
        for entry in room.iterdir()
    }
