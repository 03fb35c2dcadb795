"""Making API keys. The plain key is shown once and kept nowhere."""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Final

from windlass import ids
from windlass.store.database import Database

PREFIX: Final = "wlk_"
RANDOM_BYTES: Final = 32


def make_key() -> tuple[str, bytes]:
    """A fresh key and the hash to keep of it."""
    key = PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
    return key, sha256(key.encode()).digest()


async def ensure_admin_key(database: Database) -> str | None:
    """The first admin key, when it was made just now; None when there is a key already."""
    key, hashed = make_key()
    rows = await database.run("api_key_first", ids.uuid7(), hashed)
    return key if rows else None


async def add_admin_key(database: Database) -> str:
    """One more, for a folder that got its database from elsewhere; the others stay good."""
    key, hashed = make_key()
    await database.run("api_key_add", ids.uuid7(), hashed)
    return key


async def reset_admin_key(database: Database) -> str:
    """A new admin key instead of those that were made here before: nobody knows these any more.

    Nodes may believe an old one for seconds, unless they are told (see api.http.auth).
    """
    key, hashed = make_key()
    await database.run("api_key_reset", ids.uuid7(), hashed)
    return key


async def is_key(database: Database, key: str) -> bool:
    """Does this key open the API?"""
    return bool(await database.run("api_key_find", sha256(key.encode()).digest()))
