"""Who shows a token is known from memory, Redis or PostgreSQL, and never from what is past."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.engine.identity.people import (
    Clock,
    Node,
    a_key,
    a_session,
    a_user,
    sql,
)
from tests.until import until
from windlass.engine.identity import tokens
from windlass.engine.identity.keys import (
    KEY_PREFIX,
    SESSION_PREFIX,
    hash_of,
    make_token,
    revoke_key,
)
from windlass.engine.identity.sessions import BegunSession, end_session, rotate_session
from windlass.fastlane.keys import SESSION
from windlass.limits import (
    TOKEN_ASK_SECONDS,
    TOKEN_BELIEVED_SECONDS,
    TOKEN_COPY_SECONDS,
    TOKEN_LOOKUPS_AT_ONCE,
)
from windlass.store.database import Connection, Database, Record

REVOKE_KEYS = "UPDATE windlass.api_key SET revoked_at = now()"
REVOKE_SESSIONS = "UPDATE windlass.session SET revoked_at = now()"


def copy_of(token: str) -> str:
    return SESSION + hash_of(token.encode()).hex()


async def rotate(database: Database, session: BegunSession) -> BegunSession:
    async def work(connection: Connection[Record]) -> BegunSession | None:
        return await rotate_session(connection, session.id)

    rotated = await database.together(work)
    assert rotated is not None
    return rotated


async def test_a_session_is_its_user_and_a_key_is_itself(here: Node, database: Database) -> None:
    user = await a_user(database, "ann", "editor")
    session, key = await a_session(database, user), await a_key(database, "viewer")
    ann, machine = await here.knows(session.token), await here.knows(key.token)
    assert ann is not None
    assert machine is not None
    assert (ann.kind, ann.name, ann.role, ann.user_id) == ("user", "ann", "editor", user)
    assert ann.credential_id == session.id
    assert (machine.kind, machine.role, machine.user_id) == ("key", "viewer", None)
    assert machine.credential_id == key.key.id


async def test_what_nobody_has_is_refused_however_often(here: Node) -> None:
    for prefix in (KEY_PREFIX, SESSION_PREFIX):
        token, _ = make_token(prefix)
        assert [await here.knows(token) for _ in range(3)] == [None] * 3


async def test_a_revocation_is_heard_by_the_other_node_at_once(
    here: Node, there: Node, database: Database
) -> None:
    session = await a_session(database, await a_user(database))
    key = await a_key(database)
    for node in (here, there):
        assert await node.knows(session.token)
        assert await node.knows(key.token)
    await revoke_key(database, key.key.id)
    await here.tokens.revoked(await end_session(database, session.id))
    assert await here.knows(session.token) is None
    assert await here.knows(key.token) is None

    async def is_refused() -> bool:
        return await there.knows(session.token) is None and await there.knows(key.token) is None

    await until(is_refused, within_seconds=10)


async def test_who_was_not_told_finds_out_in_time(
    alone: Node, database: Database, watch: Clock
) -> None:
    session, key = await a_session(database, await a_user(database)), await a_key(database)
    for token in (session.token, key.token):
        assert await alone.knows(token)
    await sql(database, REVOKE_KEYS)
    await sql(database, REVOKE_SESSIONS)
    watch.ahead += TOKEN_BELIEVED_SECONDS + TOKEN_ASK_SECONDS
    for token in (session.token, key.token):
        assert await alone.knows(token) is None


async def test_what_was_known_an_hour_ago_lets_nobody_in_while_one_asks(
    alone: Node, database: Database, watch: Clock
) -> None:
    key = await a_key(database)
    assert await alone.knows(key.token)
    await sql(database, REVOKE_KEYS)
    watch.ahead += 3600
    assert await asyncio.gather(*(alone.knows(key.token) for _ in range(5))) == [None] * 5


async def test_those_who_come_while_one_asks_go_by_what_was_known_a_moment_ago(
    alone: Node, database: Database, watch: Clock
) -> None:
    key = await a_key(database)
    assert await alone.knows(key.token)
    await sql(database, REVOKE_KEYS)
    watch.ahead += TOKEN_BELIEVED_SECONDS
    first = asyncio.create_task(alone.knows(key.token))
    await asyncio.sleep(0)
    assert await alone.knows(key.token), "nobody waits for the one who asks"
    watch.ahead += TOKEN_ASK_SECONDS
    assert await alone.knows(key.token) is None
    assert await first is None


async def test_an_answer_is_as_old_as_its_question_however_late_it_is_heard(
    alone: Node, database: Database, watch: Clock
) -> None:
    """A node that was stopped in between believes nothing that it hears when it goes on."""
    key = await a_key(database)
    asking = asyncio.create_task(alone.knows(key.token))
    for _ in range(3):  # the question is on its way
        await asyncio.sleep(0)
    watch.ahead += 60
    assert await asking
    await sql(database, REVOKE_KEYS)
    assert await alone.knows(key.token) is None


async def test_a_token_that_was_rotated_away_dies_although_its_copy_is_in_redis_unmarked(
    here: Node, database: Database, watch: Clock
) -> None:
    session = await a_session(database, await a_user(database))
    assert await here.knows(session.token)
    fresh = await rotate(database, session)  # on a node that cannot reach Redis
    watch.ahead += TOKEN_COPY_SECONDS + TOKEN_BELIEVED_SECONDS
    assert await here.knows(session.token) is None
    assert await here.knows(fresh.token)


async def test_a_look_at_what_was_used_finds_what_was_rotated_away(
    here: Node, there: Node, database: Database
) -> None:
    session = await a_session(database, await a_user(database))
    assert await here.knows(session.token)
    assert await there.knows(session.token)
    fresh = await rotate(database, session)
    assert await here.knows(fresh.token)
    await here.tokens.touch()
    assert await here.knows(session.token) is None
    assert await here.knows(fresh.token)


async def test_a_copy_that_is_brought_back_into_redis_is_not_believed(
    here: Node, there: Node, database: Database, redis: Any, watch: Clock
) -> None:
    user = await a_user(database)
    session, other = await a_session(database, user), await a_session(database, user)
    assert await here.knows(session.token)
    assert await there.knows(other.token)
    kept = await redis.get(copy_of(session.token))
    await here.tokens.revoked(await end_session(database, session.id))
    watch.ahead += TOKEN_COPY_SECONDS
    await redis.set(copy_of(session.token), kept)
    assert await there.knows(session.token) is None
    assert await here.knows(session.token) is None
    assert await there.knows(other.token)


async def test_nobody_writes_a_session_into_redis(
    here: Node, there: Node, database: Database, redis: Any
) -> None:
    admin = await a_session(database, await a_user(database, "root", "admin"))
    guest = await a_session(database, await a_user(database, "guest", "viewer"))
    assert await here.knows(admin.token)
    assert await here.knows(guest.token)
    of_admin = await redis.get(copy_of(admin.token))
    stranger, _ = make_token(SESSION_PREFIX)
    changed = bytearray(of_admin)
    changed[-1] ^= 1
    for forged in (of_admin, bytes(changed), of_admin[:12], of_admin[:40], b"=" + bytes(100)):
        for token in (guest.token, stranger):
            await redis.set(copy_of(token), forged)
        there.tokens.forget()
        found = await there.knows(guest.token)
        assert found is not None
        assert found.name == "guest"
        assert await there.knows(stranger) is None


async def test_what_redis_has_of_another_type_is_no_session(
    here: Node, database: Database, redis: Any
) -> None:
    session = await a_session(database, await a_user(database))
    await redis.lpush(copy_of(session.token), "x")
    assert await here.knows(session.token)


async def test_all_that_was_used_is_written_down_however_much_it_is(
    alone: Node, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "TOKEN_TOUCH_MAX", 2)
    user = await a_user(database)
    keys = [await a_key(database) for _ in range(5)]
    sessions = [await a_session(database, user) for _ in range(5)]
    await sql(database, "UPDATE windlass.session SET seen_at = now() - interval '90 min'")
    for token in [one.token for one in keys] + [one.token for one in sessions]:
        assert await alone.knows(token)
    await sql(
        database, "UPDATE windlass.session SET revoked_at = now() WHERE id = $1", sessions[-1].id
    )
    await alone.tokens.touch()
    [row] = await sql(database, "SELECT count(last_used_at) AS n FROM windlass.api_key")
    assert row["n"] == 5
    [row] = await sql(
        database,
        "SELECT count(*) AS n FROM windlass.session WHERE seen_at > now() - interval '1 min'",
    )
    assert row["n"] == 4
    assert await alone.knows(sessions[-1].token) is None


async def test_strangers_keep_nobody_waiting_who_was_let_in_before(
    alone: Node, database: Database
) -> None:
    session = await a_session(database, await a_user(database))
    assert await alone.knows(session.token)
    async with database.own() as holding:
        await holding.execute("LOCK TABLE windlass.key_token IN ACCESS EXCLUSIVE MODE")
        strangers = [
            asyncio.create_task(alone.knows(make_token(KEY_PREFIX)[0]))
            for _ in range(5 * TOKEN_LOOKUPS_AT_ONCE)
        ]
        for _ in range(5):
            await asyncio.sleep(0)
        alone.tokens.forget()  # somebody was revoked somewhere
        async with asyncio.timeout(20):
            assert await alone.knows(session.token)
        assert not any(stranger.done() for stranger in strangers)
    assert await asyncio.gather(*strangers) == [None] * len(strangers)


async def test_a_crowd_of_strangers_leaves_who_is_known_known(
    alone: Node, database: Database
) -> None:
    key = await a_key(database)
    assert await alone.knows(key.token)
    crowd = (make_token(KEY_PREFIX)[0] for _ in range(3_000))
    assert set(await asyncio.gather(*map(alone.knows, crowd))) == {None}
    assert await alone.knows(key.token)


async def test_whoever_is_disabled_is_out_and_comes_back_with_the_same_key(
    alone: Node, database: Database
) -> None:
    user = await a_user(database)
    key, session = await a_key(database, user_id=user), await a_session(database, user)
    assert await alone.knows(key.token)
    assert await alone.knows(session.token)
    await sql(database, "UPDATE windlass.user_account SET disabled_at = now()")
    await alone.tokens.revoked()
    assert await alone.knows(key.token) is None
    assert await alone.knows(session.token) is None
    await sql(database, "UPDATE windlass.user_account SET disabled_at = NULL")
    await alone.tokens.revoked()
    assert await alone.knows(key.token)
