"""The first start: one key and one user, however many nodes start at once."""

from __future__ import annotations

import asyncio
from uuid import UUID

from tests.engine.identity.people import Node, a_key, sql
from tests.until import until
from windlass.engine.audit.refused import RefusedRecorder
from windlass.engine.identity.first import (
    FIRST_USER,
    add_admin_key,
    ensure_first_login,
    is_key,
    reset_admin_key,
)
from windlass.engine.identity.keys import MadeKey, change_key, hash_of, rotate_key
from windlass.engine.identity.login import log_in
from windlass.engine.identity.passwords import Passwords
from windlass.store.database import Database


async def test_of_ten_nodes_that_start_at_once_one_shows_the_key_and_one_the_password(
    alone: Node, database: Database, passwords: Passwords
) -> None:
    shown = await asyncio.gather(*(ensure_first_login(database, passwords) for _ in range(10)))
    [key] = [one.key for one in shown if one.key is not None]
    [password] = [one.password for one in shown if one.password is not None]
    for table in ("api_key", "user_account"):
        assert len(await sql(database, f"SELECT FROM windlass.{table}")) == 1
    found = await alone.knows(key)
    assert found is not None
    assert found.role == "admin"
    login = await log_in(
        *(database, passwords),
        name=FIRST_USER,
        password=password,
        address="x",
        device="y",
        refusals=RefusedRecorder(),
    )
    first = await alone.knows(login.session.token)
    assert first is not None
    assert (first.role, first.must_change_password) == ("admin", True)
    assert key not in repr(shown)
    assert password not in repr(shown)


async def test_a_second_start_shows_nothing(database: Database, passwords: Passwords) -> None:
    await ensure_first_login(database, passwords)
    again = await ensure_first_login(database, passwords)
    assert (again.key, again.password) == (None, None)


async def test_where_nobody_logs_in_no_user_is_made(
    database: Database, passwords: Passwords
) -> None:
    made = await ensure_first_login(database, passwords, has_users=False)
    assert made.key is not None
    assert made.password is None
    assert await sql(database, "SELECT FROM windlass.user_account") == []


async def test_a_lost_key_is_replaced_and_keys_that_somebody_made_stay(
    database: Database, passwords: Passwords
) -> None:
    lost = (await ensure_first_login(database, passwords, has_users=False)).key or ""
    further, made = await add_admin_key(database), await a_key(database, "admin")
    fresh = await reset_admin_key(database)
    good = [await is_key(database, one) for one in (lost, further, made.token, fresh)]
    assert good == [False, False, True, True]


async def test_no_token_of_a_lost_key_is_good_however_often_it_was_rotated_or_named(
    database: Database, passwords: Passwords
) -> None:
    """Nor are those of the keys that took its place."""
    tokens = [(await ensure_first_login(database, passwords, has_users=False)).key or ""]
    tokens += [await add_admin_key(database), await reset_admin_key(database)]
    tokens.append(await add_admin_key(database))
    tokens += [await rotated(database, token, 3600) for token in tokens[2:]]
    tokens += [await rotated(database, token, 3600) for token in tokens[4:]]
    await change_key(database, await id_of(database, tokens[-1]), name="laptop", quota={})
    assert [await is_key(database, one) for one in tokens] == [False] * 2 + [True] * 6
    fresh = await reset_admin_key(database)
    assert [await is_key(database, one) for one in (*tokens, fresh)] == [False] * 8 + [True]


async def test_a_reset_leaves_keys_that_somebody_made_whatever_they_are_called(
    database: Database, passwords: Passwords
) -> None:
    await ensure_first_login(database, passwords, has_users=False)
    made = [await a_key(database, "admin", name="admin"), await a_key(database, "admin")]
    tokens = [one.token for one in made]
    tokens.append(await rotated(database, tokens[1], 3600))
    await reset_admin_key(database)
    assert all([await is_key(database, one) for one in tokens])


async def test_a_key_that_is_rotated_while_it_is_reset_is_reset(
    database: Database, passwords: Passwords
) -> None:
    lost = (await ensure_first_login(database, passwords, has_users=False)).key or ""
    key_id = await id_of(database, lost)
    async with database.own() as holding:
        await holding.execute("SELECT FROM windlass.api_key FOR UPDATE")
        asked = [
            asyncio.create_task(rotate_key(database, key_id, 3600)),
            asyncio.create_task(reset_admin_key(database)),
        ]
        await until(lambda: are_waiting(database, 2), poll_seconds=0.001)
    rotation, fresh = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(fresh, str)
    tokens = [lost, *([rotation.token] if isinstance(rotation, MadeKey) else [])]
    assert not any([await is_key(database, one) for one in tokens])
    assert await is_key(database, fresh)


async def id_of(database: Database, token: str) -> UUID:
    [row] = await database.run("key_find", hash_of(token.encode()))
    found: UUID = row["id"]
    return found


async def rotated(database: Database, token: str, overlap_seconds: float) -> str:
    return (await rotate_key(database, await id_of(database, token), overlap_seconds)).token


async def are_waiting(database: Database, count: int) -> bool:
    [row] = await sql(
        database, "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    )
    return bool(row["n"] >= count)
