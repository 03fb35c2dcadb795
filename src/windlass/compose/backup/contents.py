"""What is in a database of Windlass, by number: said of a backup, and asked again of a restore."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import asyncpg

from windlass.config.secret_key import read_keys
from windlass.engine.secrets.seal import key_id
from windlass.errors import DatabaseNewer, MigrationMismatch, WindlassError
from windlass.store.migrate import MENDED, migrations
from windlass.store.statements import statement

# What a restored database must have as many of as the backup.
COUNTED: Final = ("unfinished", "running", "ended", "executions", "schedules", "secrets")


class NoTables(WindlassError):
    """There is a database, and nothing of Windlass in it."""

    code = "no_tables"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    taken_at: datetime
    schema: str  # the newest migration, by name
    unfinished: int  # jobs
    running: int  # of these
    ended: int  # jobs
    executions: int
    schedules: int
    secrets: int
    key_ids: list[str]  # of the keys that these are encrypted with
    bytes: int  # of tables and indexes

    @property
    def jobs(self) -> int:
        return self.unfinished + self.ended

    def differences(self, other: Contents) -> list[str]:
        """Where `other`, which ought to be the same, is not."""
        return [
            f"{getattr(self, name)} {name} in the backup, {getattr(other, name)} restored"
            for name in COUNTED
            if getattr(self, name) != getattr(other, name)
        ]


async def contents_of(connection: asyncpg.Connection[asyncpg.Record]) -> Contents:
    """Raises NoTables."""
    if await connection.fetchval("SELECT to_regclass('windlass.migration')") is None:
        raise NoTables("there are no tables of Windlass in this database; is it the right one?")
    row = await connection.fetchrow(statement("backup_contents"), timeout=None)
    assert row is not None
    fields: dict[str, Any] = dict(row)
    return Contents(**fields)


def refuse_unknown(applied: dict[int, tuple[str, str]]) -> None:
    """`applied`: name and digest of each migration of a database.

    Raises DatabaseNewer, MigrationMismatch when this release cannot go on from there.
    """
    known = {migration.number: migration for migration in migrations()}
    newer = [name for number, (name, _) in sorted(applied.items()) if number not in known]
    if newer:
        raise DatabaseNewer(newer)
    for number, (name, digest) in applied.items():
        if digest not in (known[number].sha256, MENDED.get(number)):
            raise MigrationMismatch(
                f"migration {name} was applied in another form than this release has; restore it "
                "with the release that made the backup"
            )


def missing_keys(wanted: Collection[str], setting: str | None) -> list[str]:
    """Ids of keys that are needed and that SECRET_KEY does not hold."""
    held = {key_id(key) for key in read_keys(setting)} if setting is not None else set()
    return sorted(set(wanted) - held)
