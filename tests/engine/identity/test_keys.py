"""API keys: what they may do, how long, under which tokens, and whose they are."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.identity.people import PROGRAM, Node, a_key, a_session, a_user, sql
from tests.until import until
from windlass import ids
from windlass.engine.identity.keys import (
    KEY_PREFIX,
    TooManyKeys,
    list_keys,
    make_token,
    read_key,
    revoke_key,
    rotate_key,
)
from windlass.engine.identity.users import change_user, delete_user
from windlass.errors import InvalidInput, NotFound
from windlass.limits import KEYS_OF_USER_MAX
from windlass.model.identity.principal import Principal
from windlass.model.identity.rights import RIGHTS, rights_of
from windlass.store.database import BadValue, Database


async def maker(alone: Node, token: str) -> Principal:
    found = await alone.knows(token)
    assert found is not None
    return found


@pytest.mark.parametrize("role", ["viewer", "operator", "editor", "admin"])
async def test_a_key_with_a_role_has_the_rights_of_the_role(
    alone: Node, database: Database, role: Any
) -> None:
    assert (await maker(alone, (await a_key(database, role)).token)).rights == rights_of(role)


async def test_a_key_with_scopes_has_these_and_no_others(alone: Node, database: Database) -> None:
    key = await a_key(database, None, rights=("jobs:submit", "queues:read"), queues=("mail",))
    found = await maker(alone, key.token)
    assert found.rights == {"jobs:submit", "queues:read"}
    assert (found.role, found.queues, found.workflows) == (None, ("mail",), None)
    assert key.token not in str(await sql(database, "SELECT * FROM windlass.key_token"))


async def test_a_key_expires(alone: Node, database: Database) -> None:
    key = await a_key(database, expires_in_seconds=60)
    found = await maker(alone, key.token)
    assert found.expires_at == key.key.expires_at is not None
    await sql(database, "UPDATE windlass.api_key SET expires_at = now()")
    alone.tokens.forget()
    assert await alone.knows(key.token) is None
    assert (await read_key(database, key.key.id)).is_expired


async def test_nobody_gives_a_key_what_he_has_not_got(alone: Node, database: Database) -> None:
    editor = await maker(alone, (await a_key(database, "editor")).token)
    for scope in ({"role": "admin"}, {"role": None, "rights": ("jobs:read", "users:edit")}):
        with pytest.raises(InvalidInput, match="have not got"):
            await a_key(database, maker=editor, **scope)
    few = replace(editor, role=None, rights=frozenset({"keys:own", "jobs:read"}))
    with pytest.raises(InvalidInput, match="jobs:submit"):
        await a_key(database, "operator", maker=few)


@pytest.mark.parametrize(
    ("has", "gives"),
    [
        ({"queues": ("a",)}, {}),
        ({"queues": ("a",)}, {"queues": ("b",)}),
        ({"queues": ("a",)}, {"queues": ("a", "b")}),
        ({"queues": ("a",)}, {"queues": ("a",), "workflows": ("w",)}),
        ({"queues": ("a",)}, {"workflows": ("w",)}),
        ({"workflows": ("w",)}, {"queues": ("a",)}),
        ({"workflows": ("w",)}, {"workflows": ("w",), "queues": ("a",)}),
    ],
)
async def test_who_is_confined_makes_no_key_that_is_less_so(
    database: Database, has: dict[str, Any], gives: dict[str, Any]
) -> None:
    confined = replace(PROGRAM, **has)
    with pytest.raises(InvalidInput, match="must be some of yours"):
        await a_key(database, "viewer", maker=confined, **gives)
    await a_key(database, "viewer", maker=confined, **has)


async def test_a_key_leaves_none_behind_that_lasts_longer(alone: Node, database: Database) -> None:
    ann = await a_user(database)
    short = await a_key(database, user_id=ann, expires_in_seconds=60)
    by_it = await maker(alone, short.token)
    for asked in (None, 3600.0):
        with pytest.raises(InvalidInput, match="as your own key"):
            await a_key(database, "viewer", user_id=ann, maker=by_it, expires_in_seconds=asked)
    await a_key(database, "viewer", user_id=ann, maker=by_it, expires_in_seconds=1)
    by_ann = await maker(alone, (await a_session(database, ann)).token)
    made = await a_key(database, "viewer", user_id=ann, maker=by_ann)
    assert made.key.expires_at is None, "of a session a key is made to stay"


async def test_a_personal_key_never_may_more_than_its_user_at_that_moment(
    alone: Node, database: Database
) -> None:
    ann = await a_user(database, "ann", "editor")
    await a_user(database, "root", "admin")
    key = await a_key(database, "editor", user_id=ann)
    scoped = await a_key(database, None, rights=("jobs:submit", "jobs:read"), user_id=ann)
    await change_user(database, ann, role="viewer", is_disabled=None)
    alone.tokens.forget()
    found = await maker(alone, key.token)
    assert (found.role, found.rights) == ("viewer", rights_of("viewer"))
    assert (await maker(alone, scoped.token)).rights == {"jobs:read"}
    await change_user(database, ann, role="admin", is_disabled=None)
    alone.tokens.forget()
    found = await maker(alone, key.token)
    assert (found.role, found.rights) == ("editor", rights_of("editor")), "nor more than was given"


async def test_a_personal_key_ends_with_its_user_and_a_machines_stays(
    alone: Node, database: Database
) -> None:
    ann = await a_user(database)
    personal, machines = await a_key(database, user_id=ann), await a_key(database)
    await delete_user(database, ann)
    alone.tokens.forget()
    assert await alone.knows(personal.token) is None
    assert await alone.knows(machines.token)
    assert [key.id for key in await list_keys(database, None, 10)] == [machines.key.id]


async def test_after_a_rotation_both_tokens_are_good_for_a_while(
    alone: Node, database: Database
) -> None:
    key = await a_key(database)
    rotated = await rotate_key(database, key.key.id, 60)
    assert rotated.key.overlap_until is not None
    assert rotated.key.rotated_at is not None
    assert await alone.knows(key.token)
    assert await alone.knows(rotated.token)
    at_once = await rotate_key(database, key.key.id, 0)
    alone.tokens.forget()
    assert await alone.knows(key.token) is None, "an overlap is cut short, and never made longer"
    assert await alone.knows(rotated.token) is None
    assert await alone.knows(at_once.token)


async def test_a_second_rotation_inside_the_overlap_prolongs_nothing(
    alone: Node, database: Database
) -> None:
    key = await a_key(database)
    await rotate_key(database, key.key.id, 60)
    [before] = await sql(database, "SELECT min(until) AS until FROM windlass.key_token")
    third = await rotate_key(database, key.key.id, 3600)
    rows = await sql(database, "SELECT until FROM windlass.key_token ORDER BY until NULLS LAST")
    assert rows[0]["until"] == before["until"]
    assert [row["until"] is None for row in rows] == [False, False, True]
    assert await alone.knows(third.token)


async def test_of_rotations_at_once_on_two_nodes_one_token_stays(
    alone: Node, database: Database
) -> None:
    key = await a_key(database)
    other = Database(database.url, application="windlass test other")
    await other.open()

    async def are_waiting() -> bool:
        [row] = await sql(
            database, "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        )
        return bool(row["n"] >= 2)

    async with database.own() as holding:
        await holding.execute("SELECT FROM windlass.api_key FOR UPDATE")
        rotating = [
            asyncio.create_task(rotate_key(node, key.key.id, 0)) for node in (database, other)
        ]
        await until(are_waiting, poll_seconds=0.001)
    made = await asyncio.gather(*rotating)
    await other.close()
    good = [one for one in made if await alone.knows(one.token)]
    assert len(good) == 1
    assert await alone.knows(key.token) is None


async def test_tokens_that_a_rotation_has_ended_are_forgotten(database: Database) -> None:
    key = await a_key(database)
    await rotate_key(database, key.key.id, 0)
    assert len(await database.run("key_token_forget", 10)) == 1
    assert len(await sql(database, "SELECT FROM windlass.key_token")) == 1


async def test_a_revoked_key_is_there_no_more(alone: Node, database: Database) -> None:
    key = await a_key(database)
    rotated = await rotate_key(database, key.key.id, 60)
    await revoke_key(database, key.key.id)
    for token in (key.token, rotated.token):
        assert await alone.knows(token) is None
    for again in (
        revoke_key(database, key.key.id),
        rotate_key(database, key.key.id, 0),
        read_key(database, key.key.id),
    ):
        with pytest.raises(NotFound):
            await again


async def test_nobody_touches_a_key_of_somebody_else(database: Database) -> None:
    ann, bob = await a_user(database, "ann"), await a_user(database, "bob")
    key = await a_key(database, user_id=ann)
    for refused in (
        revoke_key(database, key.key.id, bob),
        rotate_key(database, key.key.id, 0, bob),
        read_key(database, key.key.id, bob),
    ):
        with pytest.raises(NotFound):
            await refused
    assert await list_keys(database, bob, 10) == []


async def test_a_user_has_so_many_keys_and_no_more_however_many_ask_at_once(
    database: Database,
) -> None:
    ann = await a_user(database)
    await sql(
        database,
        "INSERT INTO windlass.api_key (id, name, role, user_id) "
        "SELECT gen_random_uuid(), 'x', 'viewer', $1 FROM generate_series(1, $2::int)",
        *(ann, KEYS_OF_USER_MAX - 2),
    )
    done = await asyncio.gather(
        *(a_key(database, user_id=ann) for _ in range(6)), return_exceptions=True
    )
    assert sum(isinstance(one, TooManyKeys) for one in done) == 4


async def test_keys_of_the_previous_release_keep_working(alone: Node, database: Database) -> None:
    """It looked for their hash alone, and does not find those that are less than an admin's."""
    token, hashed = make_token(KEY_PREFIX)
    previous = "SELECT id FROM windlass.api_key WHERE hash = $1 AND revoked_at IS NULL"
    await sql(
        database,
        "INSERT INTO windlass.api_key (id, name, role, hash) VALUES ($1, 'admin', 'admin', $2)",
        *(ids.uuid7(), hashed),
    )
    assert (await maker(alone, token)).rights == frozenset(RIGHTS)
    assert await sql(database, previous, hashed)
    weak = await a_key(database, "viewer")
    [row] = await sql(database, "SELECT hash FROM windlass.api_key WHERE id = $1", weak.key.id)
    assert row["hash"] is None
    [old] = await sql(database, "SELECT id FROM windlass.api_key WHERE hash IS NOT NULL")
    rotated = await rotate_key(database, old["id"], 60)
    assert await alone.knows(token)
    assert await alone.knows(rotated.token)
    assert not await sql(database, previous, hashed), "it would not know when its time is over"


async def test_when_it_was_used_last_is_written_down_once_a_minute(
    alone: Node, database: Database
) -> None:
    key = await a_key(database)
    assert key.key.last_used_at is None
    await alone.knows(key.token)
    await alone.tokens.touch()
    first = (await read_key(database, key.key.id)).last_used_at
    assert first is not None
    await alone.knows(key.token)
    await alone.tokens.touch()
    assert (await read_key(database, key.key.id)).last_used_at == first
    await sql(database, "UPDATE windlass.api_key SET last_used_at = now() - interval '2 min'")
    await alone.knows(key.token)
    await alone.tokens.touch()
    again = (await read_key(database, key.key.id)).last_used_at
    assert again is not None
    assert again >= first


async def test_a_key_has_a_role_or_scopes_in_the_database_too(database: Database) -> None:
    for role, rights in (("'viewer'", "'{jobs:read}'"), ("NULL", "NULL")):
        with pytest.raises(BadValue, match="api_key_scope"):
            await sql(
                database,
                "INSERT INTO windlass.api_key (id, name, role, rights) "
                f"VALUES (gen_random_uuid(), 'x', {role}, {rights})",
            )
