"""Sessions end by themselves, one by one, all at once, and when there are too many."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.engine.identity.people import Node, a_session, a_user, sql
from windlass.engine.identity.sessions import (
    BegunSession,
    begin_session,
    end_session,
    end_sessions,
    list_sessions,
)
from windlass.errors import NotFound
from windlass.limits import (
    DEVICE_CHARS_MAX,
    SESSION_IDLE_SECONDS,
    SESSION_SECONDS_MAX,
    SESSIONS_OF_USER_MAX,
)
from windlass.store.database import Connection, Database, Record


async def age(database: Database, column: str, seconds: float) -> None:
    await sql(
        database,
        f"UPDATE windlass.session SET {column} = {column} - make_interval(secs => $1)",
        float(seconds),
    )


async def several(database: Database, user_id: UUID, count: int) -> list[BegunSession]:
    """The oldest first: of those of one millisecond ids say which that is."""
    begun = [await a_session(database, user_id) for _ in range(count)]
    return sorted(begun, key=lambda one: one.id)


async def test_who_does_not_use_it_loses_it_and_who_does_keeps_it(
    alone: Node, database: Database
) -> None:
    session = await a_session(database, await a_user(database))
    for _ in range(3):  # three times nearly as long as it may lie
        await age(database, "seen_at", SESSION_IDLE_SECONDS - 60)
        alone.tokens.forget()
        assert await alone.knows(session.token)
        await alone.tokens.touch()
    await age(database, "seen_at", SESSION_IDLE_SECONDS + 1)
    alone.tokens.forget()
    assert await alone.knows(session.token) is None
    await alone.tokens.touch()
    assert await alone.knows(session.token) is None, "to be shown again does not revive it"


async def test_however_much_it_is_used_it_ends(alone: Node, database: Database) -> None:
    ann = await a_user(database)
    session = await a_session(database, ann)
    [listed] = await list_sessions(database, ann, 10)
    assert listed.expires_at - listed.created_at == pytest.approx(
        timedelta(seconds=SESSION_SECONDS_MAX), abs=timedelta(seconds=5)
    )
    await age(database, "expires_at", SESSION_SECONDS_MAX)
    alone.tokens.forget()
    assert await alone.knows(session.token) is None
    assert await list_sessions(database, ann, 10) == []


async def test_beyond_so_many_the_oldest_gives_way(alone: Node, database: Database) -> None:
    ann = await a_user(database)
    sessions = await several(database, ann, SESSIONS_OF_USER_MAX)
    newest = await a_session(database, ann)
    assert len(newest.ended) == 1
    await alone.tokens.revoked(newest.ended)
    assert await alone.knows(sessions[0].token) is None
    for kept in (sessions[1], sessions[-1], newest):
        assert await alone.knows(kept.token)


async def test_they_are_listed_and_ended_by_whose_they_are(alone: Node, database: Database) -> None:
    ann, bob = await a_user(database, "ann"), await a_user(database, "bob")
    mine = await several(database, ann, 3)
    his = await a_session(database, bob)
    assert [one.id for one in await list_sessions(database, ann, 10)] == [
        one.id for one in reversed(mine)
    ]
    assert len(await list_sessions(database, None, 10)) == 4
    page = await list_sessions(database, ann, 2)
    assert [one.id for one in await list_sessions(database, ann, 2, page[-1].id)] == [mine[0].id]
    with pytest.raises(NotFound):
        await end_session(database, his.id, ann)
    assert await alone.knows(his.token)
    await alone.tokens.revoked(await end_session(database, mine[0].id, ann))
    assert await alone.knows(mine[0].token) is None
    with pytest.raises(NotFound):
        await end_session(database, mine[0].id, ann)
    ended = await end_sessions(database, ann, mine[1].id)
    assert len(ended) == 1
    await alone.tokens.revoked(ended)
    assert await alone.knows(mine[1].token)
    assert await alone.knows(mine[2].token) is None


async def test_of_who_may_not_come_in_none_begins(database: Database) -> None:
    ann = await a_user(database)
    await sql(database, "UPDATE windlass.user_account SET disabled_at = now()")

    async def work(connection: Connection[Record]) -> Any:
        return await begin_session(connection, ann, address="x", device="y")

    assert await database.together(work) is None


async def test_what_a_device_calls_itself_is_kept_short_and_harmless(database: Database) -> None:
    ann = await a_user(database)

    async def work(connection: Connection[Record]) -> Any:
        return await begin_session(connection, ann, address="x", device="\x00\ud800" * 400)

    assert await database.together(work) is not None
    [session] = await list_sessions(database, ann, 1)
    assert 0 < len(session.device) <= DEVICE_CHARS_MAX


async def test_what_ended_long_ago_is_forgotten(database: Database) -> None:
    await a_session(database, await a_user(database))
    await age(database, "expires_at", SESSION_SECONDS_MAX)
    assert await database.run("session_forget", 10) == []
    await age(database, "expires_at", 24 * 3600)
    assert len(await database.run("session_forget", 10)) == 1
