"""Numbered SQL migrations under an advisory lock.

Each file runs in its own transaction together with the row that records it. Files only add
(expand), so nodes of the previous release keep working while a new one starts. Roles that have
rights of ours (store.roles) get those to what is new, and whoever finds everything applied closes
functions that were left open to everybody.

A role that does not own the schema migrates nothing: it finds everything there, or hears who has to
do what.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Final

import asyncpg

from windlass import ids
from windlass.errors import DatabaseNewer, MigrationMismatch, SchemaBehind
from windlass.model.identity.actor import acting
from windlass.store.roles import (
    Standing,
    close_functions,
    reached,
    refuse_lacking,
    renew_rights,
    standing_of,
)
from windlass.store.statements import statement

# Any number will do, as long as it is ours alone.
_LOCK: Final = 0x57494E444C415353
_AUDITED_SINCE: Final = 26  # the number of the audit log itself
_LEDGER: Final = """
CREATE SCHEMA IF NOT EXISTS windlass;
CREATE TABLE IF NOT EXISTS windlass.migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""
# Files that failed on some databases and were mended: what they were before, where they did not.
MENDED: Final = {
    # Two spellings of one host, neither of them its name, ended in one primary key.
    17: "a9669d32cf96c57508b887706598c968318bf520d576da5dcc5040b941af3815",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        return sha256(self.sql.encode()).hexdigest()


def migrations() -> list[Migration]:
    folder = files("windlass.store") / "migrations"
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [
        Migration(
            number=int(name[:4]),
            name=name.removesuffix(".sql"),
            sql=(folder / name).read_text(encoding="utf-8"),
        )
        for name in found
    ]


async def migrate(url: str, *, may_be_newer: bool = True) -> list[Migration]:
    """Apply what is missing; returns what was applied. Safe to call from many nodes at once.

    Where it may not be newer, tables of a later release raise DatabaseNewer. Whoever may not make
    what is missing hears SchemaBehind, and RightsMissing if he may not use what is there.

    The lock is a transaction's, and is taken for each file anew: a session may be another one after
    every commit (PgBouncer). What somebody else applied in between is no longer missing.
    """
    connection = await reached(url)
    applied: list[Migration] = []
    try:
        standing = await standing_of(connection)
        if standing.is_guest:
            await _find_ready(connection, standing, may_be_newer=may_be_newer)
            return []
        if not may_be_newer:
            await _refuse_newer(connection)
        try:
            while (migration := await _apply_next(connection)) is not None:
                applied.append(migration)
        except asyncpg.InsufficientPrivilegeError as trouble:
            if standing.owner is not None:
                raise
            raise SchemaBehind(standing.role, None, [one.name for one in migrations()]) from trouble
        return applied
    finally:
        await connection.close()


async def _find_ready(
    connection: asyncpg.Connection[asyncpg.Record], standing: Standing, *, may_be_newer: bool
) -> None:
    """For whoever may not migrate. Raises RightsMissing, SchemaBehind or what `pending` does."""
    async with connection.transaction(readonly=True):
        if not standing.may_read:
            await refuse_lacking(connection, standing)
        if not may_be_newer:
            await _refuse_newer(connection)
        if missing := await pending(connection):
            raise SchemaBehind(standing.role, standing.owner, [one.name for one in missing])
        await refuse_lacking(connection, standing)


async def _apply_next(connection: asyncpg.Connection[asyncpg.Record]) -> Migration | None:
    """Apply the first that is missing, if any."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        # Whoever owns the schema need not be able to make one.
        if await connection.fetchval("SELECT to_regclass('windlass.migration')") is None:
            await connection.execute(_LEDGER)
        missing = await pending(connection)
        if not missing:
            await close_functions(connection)
            return None
        await _apply(connection, missing[0])
        if len(missing) == 1:
            await renew_rights(connection)
        return missing[0]


async def _refuse_newer(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    if await connection.fetchval("SELECT to_regclass('windlass.migration')") is None:
        return
    newest = migrations()[-1].number
    found = await connection.fetch(
        "SELECT name FROM windlass.migration WHERE number > $1 ORDER BY number", newest
    )
    if found:
        raise DatabaseNewer([row["name"] for row in found])


async def pending(connection: asyncpg.Connection[asyncpg.Record]) -> list[Migration]:
    """What has not been applied. Raises MigrationMismatch when an applied file has changed."""
    if await connection.fetchval("SELECT to_regclass('windlass.migration')") is None:
        return migrations()
    applied = {
        row["number"]: row["sha256"]
        for row in await connection.fetch("SELECT number, sha256 FROM windlass.migration")
    }
    for migration in migrations():
        digest = applied.get(migration.number, migration.sha256)
        if digest not in (migration.sha256, MENDED.get(migration.number)):
            raise MigrationMismatch(
                f"migration {migration.name} was applied in another form than this release has; "
                "restore the file or start from a database of this release"
            )
    return [migration for migration in migrations() if migration.number not in applied]


async def _apply(connection: asyncpg.Connection[asyncpg.Record], migration: Migration) -> None:
    await connection.execute("SET LOCAL lock_timeout = '10s'")
    await connection.execute(migration.sql)
    await connection.execute(
        "INSERT INTO windlass.migration (number, name, sha256) VALUES ($1, $2, $3)",
        migration.number,
        migration.name,
        migration.sha256,
    )
    if migration.number >= _AUDITED_SINCE:
        actor = acting()
        entry = ids.uuid7(), actor.kind, actor.name, migration.name
        await connection.execute(statement("audit_migration"), *entry)
