"""Sessions: begun at login, listed, rotated, ended one by one or all at once.

Owns: the only statements that write sessions. PostgreSQL has the truth; of copies see tokens.
Promises: a session ends when nobody used it for SESSION_IDLE_SECONDS, and after SESSION_SECONDS_MAX
however much it is used; when its user is disabled, deleted or gets another role or password. What
ended one says so to every node (`Tokens.revoked`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from windlass import ids
from windlass.engine.audit.record import Entry, ask_and_record
from windlass.engine.identity.keys import SESSION_PREFIX, make_token
from windlass.errors import NotFound
from windlass.limits import DEVICE_CHARS_MAX, SESSION_IDLE_SECONDS, SESSION_SECONDS_MAX
from windlass.limits import SESSIONS_OF_USER_MAX as MOST
from windlass.model.json.storable import harmless_text
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

IDLE: Final = float(SESSION_IDLE_SECONDS)
_AFTER_ALL: Final = UUID(int=(1 << 128) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    id: UUID
    user_id: UUID
    user_name: str
    created_at: datetime
    seen_at: datetime  # right to a minute
    expires_at: datetime  # at the latest
    address: str
    device: str  # as it calls itself


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunSession:
    id: UUID
    token: str = field(repr=False)
    ended: list[bytes]  # hashes of sessions that gave way


async def begin_session(
    connection: Connection[Record], user_id: UUID, *, address: str, device: str
) -> BegunSession | None:
    """In the caller's transaction, in which nobody else changes the user. None: he may not come in
    any more.
    """
    if not await connection.fetch(statement("user_lock"), user_id):
        return None
    session_id = ids.uuid7()
    token, hashed = make_token(SESSION_PREFIX)
    rows = await connection.fetch(
        statement("session_add"),
        *(session_id, user_id, hashed, float(SESSION_SECONDS_MAX)),
        *(address, harmless_text(device)[:DEVICE_CHARS_MAX], MOST),
    )
    if not any(row["is_new"] for row in rows):
        return None
    ended = [row["hash"] for row in rows if not row["is_new"]]
    return BegunSession(id=session_id, token=token, ended=ended)


async def rotate_session(connection: Connection[Record], session_id: UUID) -> BegunSession | None:
    """Another token for the same session, in the caller's transaction. None: it has ended."""
    token, hashed = make_token(SESSION_PREFIX)
    rows = await connection.fetch(statement("session_rotate"), session_id, hashed)
    if not rows:
        return None
    return BegunSession(id=session_id, token=token, ended=[row["old_hash"] for row in rows])


async def list_sessions(
    database: Database, user_id: UUID | None, limit: int, before: UUID = _AFTER_ALL
) -> list[Session]:
    """Those that are good, the newest first. `user_id` None: everybody's."""
    rows = await database.read("session_list", before, limit, user_id, IDLE)
    return [Session(**dict(row)) for row in rows]


async def end_session(
    database: Database, session_id: UUID, user_id: UUID | None = None
) -> list[bytes]:
    """The hash of its token. `user_id` None: whoever's it is. Raises NotFound."""
    shown = ids.show("session", session_id)
    rows = await ask_and_record(
        *(database, "session_revoke", session_id, user_id),
        entries=lambda rows: [Entry(action="session.end", id=shown, name=rows[0]["user_name"])],
        about=("session", session_id),
    )
    if not rows:
        raise NotFound("session", shown)
    return [row["hash"] for row in rows]


async def end_sessions_in(
    connection: Connection[Record], user_id: UUID, but: UUID | None = None
) -> list[bytes]:
    """The hashes of their tokens, in the caller's transaction."""
    rows = await connection.fetch(statement("session_revoke_all"), user_id, but)
    return [row["hash"] for row in rows]


async def end_sessions(database: Database, user_id: UUID, but: UUID | None = None) -> list[bytes]:
    """All of a user, perhaps but one."""
    shown = ids.show("user", user_id)

    def entries(rows: list[Record]) -> list[Entry]:
        name, count = rows[0]["user_name"], len(rows)
        return [Entry(action="session.end", id=shown, name=name, count=count)]

    rows = await ask_and_record(
        *(database, "session_revoke_all", user_id, but), entries=entries, about=("user", user_id)
    )
    return [row["hash"] for row in rows]
