"""The first key and the first user, and what takes the place of a lost admin key.

Promises: however many nodes start at once on a fresh database, one first key and one first user are
made, and shown by the node that made them.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final
from uuid import UUID

from windlass import ids
from windlass.engine.audit.record import Entry, record
from windlass.engine.identity.keys import KEY_PREFIX, make_token
from windlass.engine.identity.passwords import Passwords
from windlass.limits import ONE_TIME_SECONDS
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

FIRST_USER: Final = "admin"
# Without those that look like others: it is read from a screen and typed.
_LETTERS: Final = "abcdefghijkmnpqrstuvwxyz23456789"
_GROUPS, _GROUP_CHARS = 4, 5  # 100 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstLogin:
    """What the first start shows, once. None: it was there before."""

    key: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)  # of the user FIRST_USER


async def ensure_first_login(
    database: Database, passwords: Passwords, *, has_users: bool = True
) -> FirstLogin:
    """The first key and the first user, where there are none yet. `has_users` False: nobody logs in
    here, and no user is made.
    """
    return FirstLogin(
        key=await ensure_admin_key(database),
        password=await _ensure_user(database, passwords) if has_users else None,
    )


async def ensure_admin_key(database: Database) -> str | None:
    """The first admin key, when it was made just now; None when there is a key already."""
    key, hashed = make_token(KEY_PREFIX)

    async def work(connection: Connection[Record]) -> bool:
        await connection.fetch(statement("identity_lock"))
        key_id = ids.uuid7()
        made = await connection.fetch(statement("key_first"), key_id, hashed)
        if made:
            await record(connection, _admin_key("key.add", key_id, "the first key"))
        return bool(made)

    return key if await database.together(work) else None


async def _ensure_user(database: Database, passwords: Passwords) -> str | None:
    rows = await database.run("user_any")
    if rows[0]["is_any"]:
        return None
    password = one_time_password()
    hashed = await passwords.hash(password)

    async def work(connection: Connection[Record]) -> bool:
        await connection.fetch(statement("identity_lock"))
        user_id = ids.uuid7()
        made = await connection.fetch(
            statement("user_first"), user_id, FIRST_USER, hashed, float(ONE_TIME_SECONDS)
        )
        if made:
            shown, after = ids.show("user", user_id), {"role": "admin"}
            note = "the first user"
            entry = Entry(action="user.add", id=shown, name=FIRST_USER, after=after, note=note)
            await record(connection, entry)
        return bool(made)

    return password if await database.together(work) else None


def one_time_password() -> str:
    """Something to type once."""
    groups = (
        "".join(secrets.choice(_LETTERS) for _ in range(_GROUP_CHARS)) for _ in range(_GROUPS)
    )
    return "-".join(groups)


async def add_admin_key(database: Database) -> str:
    """One more, for a folder that got its database from elsewhere; the others stay good."""
    key, hashed = make_token(KEY_PREFIX)

    async def work(connection: Connection[Record]) -> None:
        key_id = ids.uuid7()
        await connection.fetch(statement("key_admin_add"), key_id, hashed)
        await record(connection, _admin_key("key.add", key_id, "for a folder of its own"))

    await database.together(work)
    return key


async def reset_admin_key(database: Database) -> str:
    """A new admin key instead of those that were made here before: nobody knows these any more.

    Nodes may believe an old one for a moment, unless they are told (see engine.identity.tokens).
    """
    key, hashed = make_token(KEY_PREFIX)

    async def work(connection: Connection[Record]) -> None:
        await connection.fetch(statement("identity_lock"))
        key_id = ids.uuid7()
        await connection.fetch(statement("key_admin_reset"), key_id, hashed)
        note = "instead of those that were made here before, which are revoked"
        await record(connection, _admin_key("key.reset", key_id, note))

    await database.together(work)
    return key


def _admin_key(action: str, key_id: UUID, note: str) -> Entry:
    shown = ids.show("key", key_id)
    return Entry(action=action, id=shown, name="admin", after={"role": "admin"}, note=note)


async def is_key(database: Database, key: str) -> bool:
    """Does this key open the API?"""
    return bool(await database.run("key_find", sha256(key.encode()).digest()))
