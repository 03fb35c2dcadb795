"""What tests ask the database beyond what a node does: the statements in sql/, by their names."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from windlass.store.database import Database, Record


@cache
def local_statement(name: str) -> str:
    return (files("windlass.testing") / "sql" / f"{name}.sql").read_text(encoding="utf-8")


async def ask(database: Database, name: str, *args: Any) -> list[Record]:
    async with database.side() as connection:
        return await connection.fetch(local_statement(name), *args)
