"""The statements, by the name of their file in sql/."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def statement(name: str) -> str:
    return (files("windlass.store") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
