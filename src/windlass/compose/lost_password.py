"""A one-time password for a user, beside the database: for the last admin, who lost the password.

It takes the database and nobody's leave, as `reset_key` does (admin_key).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import asyncpg

from windlass import ids
from windlass.compose.admin_key import tell_nodes
from windlass.compose.data import database_of
from windlass.compose.foreground import DATA, MissingSetting
from windlass.config import Settings
from windlass.embedded.valkey import EmbeddedValkey
from windlass.engine.identity.passwords import Passwords
from windlass.engine.identity.tokens import shared_sessions
from windlass.engine.identity.users import reset_password
from windlass.fastlane.lane import FastLane, LaneDown
from windlass.store.database import Database

REDIS_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordReset:
    name: str
    password: str = field(repr=False)
    is_disabled: bool
    untold: Sequence[str]  # nodes that may believe a session of before for some seconds more


async def reset_lost_password(settings: Settings, user: str) -> PasswordReset:
    """By name or id. When this returns the sessions of before are refused by every node that was
    told. Raises NotFound.
    """
    folder = (settings.data or DATA) if settings.database_url is None else None
    async with database_of(settings.database_url, settings.data) as address:
        database = Database(address, application="windlass user reset-password")
        await database.open()
        try:
            passwords = Passwords()
            try:
                reset = await reset_password(database, passwords, _which(user))
            finally:
                passwords.close()
            redis_url = settings.redis_url if folder is None else EmbeddedValkey(folder).url()
            await _mark(redis_url, reset.ended)
            assert reset.password is not None, "it was made just now"
            return PasswordReset(
                name=reset.user.name,
                password=reset.password,
                is_disabled=reset.user.disabled_at is not None,
                untold=await tell_nodes(database, redis_url),
            )
        except asyncpg.UndefinedTableError:
            raise MissingSetting(
                "this database has no users of this Windlass; start a node on it, which makes one"
            ) from None
        finally:
            await database.close()


def _which(user: str) -> UUID | str:
    try:
        return ids.parse("user", user)
    except ValueError:
        return user.lower()


async def _mark(redis_url: str | None, ended: Sequence[bytes]) -> None:
    """No copy of these sessions is believed."""
    lane, is_up = FastLane(redis_url), asyncio.Event()
    lane.on_change(lambda up: is_up.set() if up else None)
    await lane.open()
    try:
        sessions = shared_sessions(lane, b"")
        # Where Redis is away each node finds it in PostgreSQL soon.
        with contextlib.suppress(LaneDown, TimeoutError):
            async with asyncio.timeout(REDIS_SECONDS if redis_url is not None else 0):
                await is_up.wait()
            await sessions.mark([hashed.hex() for hashed in ended])
        await sessions.close()
    finally:
        await lane.close()
