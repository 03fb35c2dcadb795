"""From a file into a new data folder, or into a database that has nothing of Windlass yet.

A folder is marked before anything is made in it (embedded.servers, UNFINISHED), and the mark goes
when all of it is there and on disk. Until then nobody serves it, and another restore throws away
what is there and begins anew. What was not made by a restore is never thrown away.

The dump is loaded in one transaction; then migrations, rights, the days to come, counts, and the
doctor. It may come without rights: those that `windlass migrate role` gave are noted in a table.
Jobs that ran when the backup was taken still run by their rows. The first node gives them back to
their queues: the leases of their nodes have long lapsed. So the doctor's word on them is passed by.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import asyncpg

from windlass.clock import monotonic
from windlass.compose.backup.archive import Archive
from windlass.compose.backup.contents import Contents, contents_of, refuse_unknown
from windlass.compose.backup.load import load, unknown_roles
from windlass.compose.backup.take import Pooled, megabytes
from windlass.compose.embedded import KEY_FILE as SECRET_KEY_FILE
from windlass.compose.private_file import write_private
from windlass.embedded.client import Login
from windlass.embedded.cluster import discard_drafts
from windlass.embedded.orphan import end_postgres_on
from windlass.embedded.passwords import FOLDER as PASSWORDS
from windlass.embedded.passwords import sync_folder
from windlass.embedded.postgres import EmbeddedPostgres
from windlass.embedded.servers import UNFINISHED, DataLock, make_data_folder
from windlass.engine.audit.record import Entry, record_alone
from windlass.engine.doctor.doctor import DoctorReport, doctor
from windlass.engine.identity.first import add_admin_key
from windlass.engine.jobs.partitions import make_days
from windlass.errors import WindlassError
from windlass.sdk.http.local_key import KEY_FILE
from windlass.store.address import Address
from windlass.store.database import Database
from windlass.store.migrate import migrate
from windlass.store.roles import renew_rights

# What an empty folder may hold: the key that somebody has put there, and what no data is in.
_NO_DATA: Final = frozenset({SECRET_KEY_FILE, UNFINISHED, "lock", "log", "lost+found"})
# Nobody else is connected. What is loaded into tables made in the same transaction goes to their
# files and not through the log; and one transaction locks every partition that it makes.
_LOADING: Final = {
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_locks_per_transaction": "1024",
    "maintenance_work_mem": "128MB",
    "autovacuum": "off",
}
# The database that a backup holds, an empty cluster, and some log.
_ROOM_FACTOR: Final = 1.1
_ROOM_BYTES: Final = 100_000_000
# A dump is so much smaller than what it was made of, if it does not say.
_UNPACKED_FACTOR: Final = 5
_NAMES_SHOWN_MAX: Final = 5

Tell = Callable[[str], None]


class FolderOccupied(WindlassError):
    """There is something in the folder that a restore is to fill."""

    code = "folder_occupied"

    def __init__(self, folder: Path, names: list[str]) -> None:
        self.folder, self.names = folder, names
        shown = ", ".join(names[:_NAMES_SHOWN_MAX]) + (
            ", …" if len(names) > _NAMES_SHOWN_MAX else ""
        )
        super().__init__(
            f"{folder} is not empty ({shown}), and a restore writes over nothing; name a new "
            f"folder with --data, or put this one aside: mv {folder} {folder}.before"
        )


class DatabaseOccupied(WindlassError):
    """There is a schema `windlass` in the database that a restore is to fill."""

    code = "database_occupied"

    def __init__(self) -> None:
        super().__init__(
            "this database has a schema windlass already, and a restore writes over nothing; give "
            "an empty database, or put that schema aside: ALTER SCHEMA windlass RENAME TO before"
        )


class NoRoom(WindlassError):
    """There is not enough room for what the backup holds."""

    code = "no_room"

    def __init__(self, place: Path, free: int, needed: int) -> None:
        self.place, self.free, self.needed = place, free, needed
        super().__init__(
            f"{place} has {megabytes(free)} left, and the backup needs about {megabytes(needed)}; "
            "make room, or name a folder on another disk with --data"
        )


class NotRestored(WindlassError):
    """What was restored is not what the backup says it holds."""

    code = "not_restored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Examine:
    """Whether the doctor is to look at it, and by which setting."""

    is_wanted: bool
    retention_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What is there now."""

    contents: Contents
    migrations: list[str]  # that were applied to it
    report: DoctorReport | None  # None: nobody asked for one
    roles: list[str]  # that lost rights, because this server does not have them
    key_path: Path | None  # of a new admin key; None: of the old ones alone
    seconds: float


async def restore_into_folder(
    archive: Archive, folder: Path, *, examine: Examine, tell: Tell, with_key: bool = True
) -> Restored:
    """Raises FolderOccupied, NoRoom, DataInUse; and whatever may go wrong, when nothing is left."""
    begun = monotonic()
    refuse_unknown(archive.migrations)
    _refuse_served(folder)
    _refuse_occupied(folder)
    _refuse_full(folder, archive)
    async with _filled(folder, archive) as postgres:
        tell("starting PostgreSQL")
        await postgres.start()
        try:
            found = await _fill(postgres.url(), archive, examine, tell, is_ours=True)
            key_path = None
            if with_key:
                key_path = folder / KEY_FILE
                write_private(key_path, await _key(postgres.url()))
        finally:
            tell("stopping PostgreSQL")
            await postgres.stop()
    return _restored(found, key_path, begun)


async def restore_into_database(
    archive: Archive, url: str, *, examine: Examine, tell: Tell
) -> Restored:
    """Raises DatabaseOccupied."""
    begun = monotonic()
    refuse_unknown(archive.migrations)
    found = await _fill(url, archive, examine, tell, is_ours=False)
    return _restored(found, None, begun)


def _restored(found: _Filled, key_path: Path | None, begun: float) -> Restored:
    return Restored(
        contents=found.contents,
        migrations=found.migrations,
        report=found.report,
        roles=found.roles,
        key_path=key_path,
        seconds=monotonic() - begun,
    )


@contextlib.contextmanager
def scratch_folder(beside: Path | None) -> Iterator[Path]:
    """A folder that is gone afterwards. None: where temporary files lie."""
    above = Path(tempfile.mkdtemp(prefix="windlass-drill-", dir=beside))
    try:
        if os.geteuid() == 0:  # the servers' account passes through
            above.chmod(0o711)
        yield above / "restored"
    finally:
        shutil.rmtree(above)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Filled:
    contents: Contents
    migrations: list[str]
    report: DoctorReport | None  # None: nobody asked for one
    roles: list[str]


async def _fill(
    url: str, archive: Archive, examine: Examine, tell: Tell, *, is_ours: bool
) -> _Filled:
    address = Address(url)
    if address.is_pooled:
        raise Pooled
    connection = await address.connect()
    try:
        if await connection.fetchval("SELECT to_regnamespace('windlass')") is not None:
            raise DatabaseOccupied
        major = connection.get_server_version().major
        roles = await unknown_roles(connection, archive.grants)
        await load(
            archive,
            Login.of(url, is_ours=is_ours),
            server_major=major,
            with_grants=not roles,
            on_bytes=lambda count: tell(f"loaded {megabytes(count)}"),
        )
        tell("bringing its tables up to date")
        applied = await migrate(url)
        await renew_rights(connection)
        await _gather_statistics(connection)
        contents = await contents_of(connection)
    finally:
        await connection.close()
    if archive.manifest is not None:
        wrong = archive.manifest.contents.differences(contents)
        if wrong:
            raise NotRestored(f"{archive.path} was not restored whole: {'; '.join(wrong)}")
    return _Filled(
        contents=contents,
        migrations=[migration.name for migration in applied],
        report=await _examine(url, archive.path, examine, tell),
        roles=roles,
    )


async def _gather_statistics(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    tables = await connection.fetchval(
        "SELECT string_agg(format('windlass.%I', relname), ', ') FROM pg_class "
        "WHERE relnamespace = 'windlass'::regnamespace AND relkind = 'r'"
    )
    await connection.execute(f"ANALYZE {tables}", timeout=None)


async def _examine(url: str, file: Path, wanted: Examine, tell: Tell) -> DoctorReport | None:
    database = Database(url, application="windlass restore")
    await database.open()
    try:
        await make_days(database)
        await record_alone(database, Entry(action="database.restore", name=file.name))
        if not wanted.is_wanted:
            return None
        report = await doctor(
            database,
            retention_days=wanted.retention_days,
            on_progress=lambda jobs: tell(f"checked {jobs:,} jobs"),
        )
    finally:
        await database.close()
    del report.counts["unowned"]
    report.findings = [finding for finding in report.findings if finding.check != "unowned"]
    return report


async def _key(url: str) -> str:
    database = Database(url, application="windlass restore")
    await database.open()
    try:
        return await add_admin_key(database)
    finally:
        await database.close()


@asynccontextmanager
async def _filled(folder: Path, archive: Archive) -> AsyncIterator[EmbeddedPostgres]:
    """The PostgreSQL to fill, not started; marked while inside, empty again after a failure."""
    make_data_folder(folder)
    lock = DataLock(folder)
    lock.acquire()
    try:
        _refuse_occupied(folder)
        postgres = EmbeddedPostgres(folder, settings=_LOADING)
        mark = folder / UNFINISHED
        _write_mark(mark, archive.path)
        await _throw_away(postgres)
        try:
            yield postgres
        except BaseException:
            await _throw_away(postgres)
            mark.unlink()
            raise
        mark.unlink()
        sync_folder(folder)
    finally:
        lock.release()


def _write_mark(mark: Path, file: Path) -> None:
    with mark.open("wb") as marked:
        marked.write(os.fsencode(file.resolve()) + b"\n")
        marked.flush()
        os.fsync(marked.fileno())
    sync_folder(mark.parent)


async def _throw_away(postgres: EmbeddedPostgres) -> None:
    """What a restore has made; the folder is marked, so nobody else has made it."""
    await end_postgres_on(postgres.home / "cluster")
    for made in (postgres.home, postgres.data / PASSWORDS):
        if made.exists():
            await asyncio.to_thread(shutil.rmtree, made)
    discard_drafts(postgres.data)
    (postgres.data / KEY_FILE).unlink(missing_ok=True)


def _refuse_served(folder: Path) -> None:
    if (folder / "lock").exists():
        lock = DataLock(folder)
        lock.acquire()
        lock.release()


def _refuse_occupied(folder: Path) -> None:
    if (folder / UNFINISHED).exists() or not folder.is_dir():
        return
    if names := sorted({path.name for path in folder.iterdir()} - _NO_DATA):
        raise FolderOccupied(folder, names)


def _refuse_full(folder: Path, archive: Archive) -> None:
    known = archive.manifest.contents.bytes if archive.manifest is not None else None
    needed = int((known or archive.bytes * _UNPACKED_FACTOR) * _ROOM_FACTOR) + _ROOM_BYTES
    place = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(place).free
    if free < needed:
        raise NoRoom(place, free, needed)
