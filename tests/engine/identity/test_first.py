"""The first start: one key and one user, however many nodes start at once."""

from __future__ import annotations

import asyncio

from tests.engine.identity.people import Node, a_key, sql
from windlass.engine.audit.refused import RefusedRecorder
from windlass.engine.identity.first import (
    FIRST_USER,
    add_admin_key,
    ensure_first_login,
    is_key,
    reset_admin_key,
)
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
