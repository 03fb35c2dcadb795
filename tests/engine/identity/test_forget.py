"""Retention of identity: what matters no more goes, and nothing else."""

from __future__ import annotations

from windlass import ids
from windlass.engine.identity.forget import forget_identity
from windlass.store.database import Database


async def _count(database: Database, table: str) -> int:
    rows = await database.browse(f"SELECT count(*) AS count FROM windlass.{table}")
    return int(rows[0]["count"])


async def test_tries_logins_sessions_and_rotated_tokens_go_when_they_matter_no_more(
    database: Database,
) -> None:
    user_id, key_id = ids.uuid7(), ids.uuid7()
    async with database.side() as connection:
        await connection.execute(
            "INSERT INTO windlass.user_account (id, name, role) VALUES ($1, 'ann', 'admin')",
            user_id,
        )
        await connection.execute(
            "INSERT INTO windlass.api_key (id, name, role) VALUES ($1, 'ci', 'viewer')", key_id
        )
        await connection.execute(
            """INSERT INTO windlass.login_try (subject, due_at)
               SELECT decode(md5(n::text), 'hex'), clock_timestamp() + n * interval '1 minute'
               FROM generate_series(-6000, 3) n"""
        )
        for name, days in (("long over", -2), ("just over", 0), ("good", 1)):
            await connection.execute(
                """INSERT INTO windlass.session (id, user_id, hash, expires_at, address, device)
                   VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 day', '::1', '')""",
                *(ids.uuid7(), user_id, name.encode(), days),
            )
        await connection.execute(
            """INSERT INTO windlass.login_under_way
                   (state_hash, browser_hash, return_to, expires_at)
               SELECT decode(md5(n::text), 'hex'), '', '/', clock_timestamp() + n * interval '1 min'
               FROM generate_series(-6000, 2) n"""
        )
        for name, seconds in (("over", -1), ("in overlap", 60), ("current", None)):
            await connection.execute(
                """INSERT INTO windlass.key_token (hash, key_id, until)
                   VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))""",
                *(name.encode(), key_id, seconds),
            )

    while await forget_identity(database):
        pass

    assert await _count(database, "login_try") == 3, "those of the future slow somebody down still"
    assert await _count(database, "login_under_way") == 2
    assert await _count(database, "session") == 2
    assert await _count(database, "key_token") == 2
    assert await _count(database, "user_account") == 1
    assert await _count(database, "api_key") == 1


async def test_what_somebody_holds_is_left_for_the_next_round(database: Database) -> None:
    async with database.side() as connection:
        await connection.execute(
            """INSERT INTO windlass.login_try (subject, due_at)
               VALUES ('one', '2000-01-01'), ('two', '2000-01-02')"""
        )
    async with database.side(readonly=False) as holder:
        await holder.execute("SELECT FROM windlass.login_try WHERE subject = 'one' FOR UPDATE")
        assert await forget_identity(database) == 1
        assert await forget_identity(database) == 0
    assert await forget_identity(database) == 1
