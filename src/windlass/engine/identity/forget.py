"""Retention of identity: what was counted, has ended or was rotated away, and matters no more.

Promises: tries to log in are kept as long as they slow somebody down, logins that nobody ended for
ten minutes, sessions for a day after their end, the former token of a key until its overlap is
over. Whatever somebody holds is left for the next round.
"""

from __future__ import annotations

from typing import Final

from windlass.limits import LOGIN_FORGET_BATCH
from windlass.store.database import Database

_STATEMENTS: Final = (
    "login_try_forget",
    "login_under_way_forget",
    "session_forget",
    "key_token_forget",
)


async def forget_identity(database: Database) -> int:
    """A batch of each; how much there was. Idempotent: any node may, at any time."""
    forgotten = 0
    for name in _STATEMENTS:
        forgotten += len(await database.run(name, LOGIN_FORGET_BATCH))
    return forgotten
