"""Migrations: from nothing, again, by many at once, and never over a changed past."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from windlass.errors import DatabaseNewer, MigrationMismatch
from windlass.store.migrate import MENDED, migrate, migrations, pending
from windlass.testing.servers import PrivateServers


async def fetch(url: str, statement: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetch(statement)
    finally:
        await connection.close()


async def ledger(url: str) -> list[tuple[int, str, str]]:
    rows = await fetch(url, "SELECT number, name, sha256 FROM windlass.migration ORDER BY number")
    return [(row["number"], row["name"], row["sha256"]) for row in rows]


def test_migrations_are_numbered_from_one_without_gaps() -> None:
    assert [m.number for m in migrations()] == list(range(1, len(migrations()) + 1))


async def test_an_empty_database_gets_all_of_them_in_order(servers: PrivateServers) -> None:
    url = await servers.create_database()
    assert await migrate(url) == migrations()
    assert await ledger(url) == [(m.number, m.name, m.sha256) for m in migrations()]
    assert await fetch(url, "SELECT FROM windlass.job") == []


async def test_a_migrated_database_is_left_alone(servers: PrivateServers) -> None:
    url = await servers.create_database()
    await migrate(url)
    before = await fetch(url, "SELECT * FROM windlass.migration")
    assert await migrate(url) == []
    assert await fetch(url, "SELECT * FROM windlass.migration") == before


async def test_of_five_nodes_that_start_at_once_each_step_is_done_by_one(
    servers: PrivateServers,
) -> None:
    url = await servers.create_database()
    applied = await asyncio.gather(*(migrate(url) for _ in range(5)))
    assert sorted(m.number for done in applied for m in done) == [m.number for m in migrations()]
    assert len(await ledger(url)) == len(migrations())


async def test_a_file_that_changed_after_it_was_applied_is_refused(database_url: str) -> None:
    await fetch(database_url, "UPDATE windlass.migration SET sha256 = 'other' WHERE number = 1")
    with pytest.raises(MigrationMismatch, match="0001_spine was applied in another form"):
        await migrate(database_url)


async def test_what_is_missing_in_the_middle_is_found(database_url: str) -> None:
    await fetch(database_url, "DELETE FROM windlass.migration WHERE number = 2")
    connection = await asyncpg.connect(database_url)
    try:
        assert [m.number for m in await pending(connection)] == [2]
    finally:
        await connection.close()


async def test_a_step_that_fails_leaves_nothing_behind(database_url: str) -> None:
    # 0002 makes functions that are there already: it fails half-way through.
    await fetch(database_url, "DELETE FROM windlass.migration WHERE number = 2")
    await fetch(database_url, "DROP FUNCTION windlass.uuid7()")
    with pytest.raises(asyncpg.DuplicateFunctionError):
        await migrate(database_url)
    assert 2 not in [number for number, _, _ in await ledger(database_url)]
    made = "SELECT FROM pg_proc WHERE proname = 'uuid7' AND pronamespace = 'windlass'::regnamespace"
    assert await fetch(database_url, made) == []


async def test_nodes_of_the_previous_release_work_on_a_newer_database(database_url: str) -> None:
    await fetch(
        database_url, "INSERT INTO windlass.migration VALUES (9999, '9999_later', 'x', now())"
    )
    assert await migrate(database_url) == []


async def test_a_folder_of_a_newer_windlass_is_refused_and_left_as_it_is(database_url: str) -> None:
    await fetch(
        database_url,
        "INSERT INTO windlass.migration (number, name, sha256) VALUES (9001, '9001_later', 'x')",
    )
    before = await ledger(database_url)
    with pytest.raises(DatabaseNewer, match=r"newer Windlass \(migration 9001_later is not known"):
        await migrate(database_url, may_be_newer=False)
    assert await ledger(database_url) == before
    assert await migrate(database_url) == []  # nodes of two releases, side by side


async def test_targets_known_under_several_spellings_become_one_which_stays_disabled(
    database_url: str,
) -> None:
    """0017 gives every host its one name; what was disabled under any is not called again."""
    await fetch(database_url, "DELETE FROM windlass.migration WHERE name = '0017_guard'")
    await fetch(
        database_url,
        """INSERT INTO windlass.target (host, is_enabled, disabled_at, disabled_reason, rate) VALUES
           ('shop.example', true, NULL, NULL, 7), ('shop.example.', false, now(), 'gone', NULL),
           ('[0:0:0:0:0:0:0:1]:8080', true, NULL, NULL, 5),
           ('[0::1]:8080', false, now(), 'gone too', 6), ('bücher.example', true, NULL, NULL, 3)
        """,
    )
    assert [m.name for m in await migrate(database_url)] == ["0017_guard"]
    rows = await fetch(
        database_url, "SELECT host, is_enabled, disabled_reason, rate FROM windlass.target"
    )
    assert {
        (row["host"], row["is_enabled"], row["disabled_reason"], row["rate"]) for row in rows
    } == {
        ("shop.example", False, "gone", 7.0),
        ("[::1]:8080", False, "gone too", 5.0),
        ("bücher.example", True, None, 3.0),
    }


async def test_a_database_that_took_a_file_before_it_was_mended_goes_on(database_url: str) -> None:
    [(number, before)] = MENDED.items()
    await fetch(
        database_url,
        f"UPDATE windlass.migration SET sha256 = '{before}' WHERE number = {number}",
    )
    assert await migrate(database_url) == []
