"""Users: there is always an admin who may come in; whoever is changed has no session of before."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.engine.identity.people import PASSWORD, Node, a_session, a_user, sql
from windlass.engine.audit.refused import RefusedRecorder
from windlass.engine.identity.login import log_in
from windlass.engine.identity.passwords import Passwords
from windlass.engine.identity.users import (
    LastAdmin,
    NameTaken,
    User,
    WrongPassword,
    add_user,
    add_user_elsewhere,
    change_user,
    choose_password,
    delete_user,
    list_users,
    read_user,
    reset_password,
)
from windlass.errors import InvalidInput, NotFound, PreconditionFailed
from windlass.model.json.etag import Precondition
from windlass.store.database import Database

NEW = "seven large blue whales"


async def admins(database: Database) -> int:
    [row] = await sql(
        database,
        "SELECT count(*)::int AS n FROM windlass.user_account "
        "WHERE role = 'admin' AND disabled_at IS NULL",
    )
    n: int = row["n"]
    return n


def demote(database: Database, name: str) -> Coroutine[Any, Any, Any]:
    return change_user(database, name, role="viewer", is_disabled=None)


def disable(database: Database, name: str) -> Coroutine[Any, Any, Any]:
    return change_user(database, name, role=None, is_disabled=True)


def delete(database: Database, name: str) -> Coroutine[Any, Any, Any]:
    return delete_user(database, name)


WAYS_OUT = (demote, disable, delete)


@pytest.mark.parametrize("way", WAYS_OUT)
async def test_the_last_admin_stays(database: Database, way: Any) -> None:
    await a_user(database, "root", "admin")
    await a_user(database, "out", "admin")
    await disable(database, "out")
    with pytest.raises(LastAdmin, match="root"):
        await way(database, "root")
    assert await admins(database) == 1
    await change_user(database, "out", role=None, is_disabled=False)
    await way(database, "root")
    assert await admins(database) == 1


async def use_up(database: Database, passwords: Passwords, name: str) -> None:
    """Log in with a one-time password, and choose no other."""
    reset = await reset_password(database, passwords, name)
    assert reset.password is not None
    await log_in(
        *(database, passwords),
        name=name,
        password=reset.password,
        address="192.0.2.1",
        device="a test",
        refusals=RefusedRecorder(),
    )


async def outlive(database: Database, passwords: Passwords, name: str) -> None:
    """Never use a one-time password, until it is too old."""
    await reset_password(database, passwords, name)
    await sql(
        database,
        "UPDATE windlass.user_account SET password_until = clock_timestamp() WHERE name = $1",
        name,
    )


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize("spend", [use_up, outlive])
async def test_an_admin_whose_one_time_password_is_spent_is_not_the_other_one(
    database: Database, passwords: Passwords, way: Any, spend: Any
) -> None:
    await a_user(database, "root", "admin", hashed=await passwords.hash(PASSWORD))
    await a_user(database, "bob", "admin")
    await spend(database, passwords, "bob")
    with pytest.raises(LastAdmin, match="root"):
        await way(database, "root")
    await reset_password(database, passwords, "bob")
    await way(database, "root")
    assert await admins(database) == 1


@pytest.mark.parametrize("way", WAYS_OUT)
async def test_who_cannot_log_in_any_more_may_be_put_out_and_the_last_one_stays(
    database: Database, passwords: Passwords, way: Any
) -> None:
    """For the last one there is `windlass user reset-password`, and for nobody there is nothing."""
    await a_user(database, "root", "admin", hashed=await passwords.hash(PASSWORD))
    await a_user(database, "bob", "admin")
    await outlive(database, passwords, "bob")
    await way(database, "bob")
    await outlive(database, passwords, "root")
    with pytest.raises(LastAdmin, match="root"):
        await way(database, "root")


async def test_an_admin_of_an_identity_provider_needs_no_password_to_be_the_other_one(
    database: Database, passwords: Passwords
) -> None:
    await a_user(database, "root", "admin", hashed=await passwords.hash(PASSWORD))
    await add_user_elsewhere(database, issuer="https://x", subject="1", name="eve", role="admin")
    await outlive(database, passwords, "eve")
    await delete(database, "root")
    assert await admins(database) == 1


@pytest.mark.parametrize("first", WAYS_OUT)
@pytest.mark.parametrize("second", WAYS_OUT)
async def test_of_two_admins_who_put_each_other_out_at_once_one_stays(
    database: Database, first: Any, second: Any
) -> None:
    await a_user(database, "ann", "admin")
    await a_user(database, "bob", "admin")
    done = await asyncio.gather(
        first(database, "ann"), second(database, "bob"), return_exceptions=True
    )
    assert sum(isinstance(one, LastAdmin) for one in done) == 1, done
    assert await admins(database) == 1
    assert LastAdmin("x").status == 409


async def test_of_ten_admins_who_all_leave_at_once_one_stays(database: Database) -> None:
    names = [f"admin{n}" for n in range(10)]
    for name in names:
        await a_user(database, name, "admin")
    done = await asyncio.gather(
        *(WAYS_OUT[n % 3](database, name) for n, name in enumerate(names)), return_exceptions=True
    )
    assert sum(isinstance(one, LastAdmin) for one in done) == 1, done
    assert await admins(database) == 1


async def test_who_gets_another_role_has_no_session_of_before(
    alone: Node, database: Database
) -> None:
    ann = await a_user(database)
    sessions = [await a_session(database, ann) for _ in range(3)]
    changed = await change_user(database, ann, role="viewer", is_disabled=None)
    assert len(changed.ended) == 3
    await alone.tokens.revoked(changed.ended)
    assert [await alone.knows(one.token) for one in sessions] == [None] * 3
    assert changed.session is None


async def test_who_changes_himself_goes_on_under_another_token(
    alone: Node, database: Database
) -> None:
    ann = await a_user(database, "ann", "admin")
    await a_user(database, "root", "admin")
    mine, other = await a_session(database, ann), await a_session(database, ann)
    changed = await change_user(database, ann, role="editor", is_disabled=None, session_id=mine.id)
    assert changed.session is not None
    await alone.tokens.revoked(changed.ended)
    assert await alone.knows(mine.token) is None
    assert await alone.knows(other.token) is None
    found = await alone.knows(changed.session.token)
    assert found is not None
    assert (found.role, found.credential_id) == ("editor", mine.id)


async def test_who_disables_himself_is_out_for_good(alone: Node, database: Database) -> None:
    """His session does not come back with him."""
    ann = await a_user(database, "ann", "admin")
    await a_user(database, "root", "admin")
    mine = await a_session(database, ann)
    changed = await change_user(database, ann, role=None, is_disabled=True, session_id=mine.id)
    assert len(changed.ended) == 1
    await change_user(database, ann, role=None, is_disabled=False)
    assert await alone.knows(mine.token) is None


async def test_a_change_that_changes_nothing_ends_nothing(database: Database) -> None:
    ann = await a_user(database)
    await a_session(database, ann)
    for role, is_disabled in (("operator", None), (None, False), (None, None)):
        changed = await change_user(database, ann, role=role, is_disabled=is_disabled)  # type: ignore[arg-type]
        assert changed.ended == []
    assert (await read_user(database, "ann")).sessions == 1


async def test_a_change_of_a_user_who_was_changed_meanwhile_is_refused(
    database: Database,
) -> None:
    await a_user(database)
    seen = await read_user(database, "ann")
    wanted = Precondition(match=frozenset({seen.etag}))
    await change_user(database, "ann", role="viewer", is_disabled=None, wanted=wanted)
    with pytest.raises(PreconditionFailed):
        await change_user(database, "ann", role="editor", is_disabled=None, wanted=wanted)


async def test_a_name_is_somebodys_once_however_many_ask(
    database: Database, passwords: Passwords
) -> None:
    done = await asyncio.gather(
        *(add_user(database, passwords, "ann", "viewer", PASSWORD) for _ in range(6)),
        return_exceptions=True,
    )
    assert sum(isinstance(one, NameTaken) for one in done) == 5
    assert [user.name for user in await list_users(database, 10)] == ["ann"]


async def test_what_is_made_shows_no_password_that_was_chosen(
    database: Database, passwords: Passwords
) -> None:
    made = await add_user(database, passwords, "ann", "viewer", PASSWORD)
    assert made.password is None
    assert not made.user.must_change_password
    reset = await reset_password(database, passwords, "ann")
    assert reset.password is not None
    assert reset.password not in repr(reset)
    assert reset.user.must_change_password


async def test_a_password_is_chosen_by_who_knows_the_one_before_and_is_another(
    alone: Node, database: Database, passwords: Passwords
) -> None:
    ann = await a_user(database, hashed=await passwords.hash(PASSWORD))
    mine, other = await a_session(database, ann), await a_session(database, ann)

    async def choose(old: str, new: str) -> Any:
        return await choose_password(
            *(database, passwords, ann), old=old, new=new, session_id=mine.id
        )

    with pytest.raises(WrongPassword):
        await choose("three small green goats", NEW)
    with pytest.raises(InvalidInput, match="of before"):
        await choose(PASSWORD, PASSWORD)
    assert await alone.knows(other.token)
    changed = await choose(PASSWORD, NEW)
    await alone.tokens.revoked(changed.ended)
    assert await alone.knows(mine.token) is None
    assert await alone.knows(other.token) is None
    assert await alone.knows(changed.session.token)


async def test_of_two_who_choose_a_password_at_once_one_is_told(
    database: Database, passwords: Passwords
) -> None:
    ann = await a_user(database, hashed=await passwords.hash(PASSWORD))
    sessions = [await a_session(database, ann) for _ in range(2)]
    done = await asyncio.gather(
        *(
            choose_password(
                *(database, passwords, ann), old=PASSWORD, new=NEW + str(n), session_id=one.id
            )
            for n, one in enumerate(sessions)
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(one, WrongPassword) for one in done) == 1, done


async def test_who_is_not_there_is_not_found(database: Database, passwords: Passwords) -> None:
    for asked in (
        read_user(database, "nobody"),
        demote(database, "nobody"),
        delete(database, "nobody"),
        reset_password(database, passwords, "nobody"),
    ):
        with pytest.raises(NotFound, match="nobody"):
            await asked


async def test_users_are_listed_by_name_a_page_at_a_time(database: Database) -> None:
    for name in ("carl", "ann", "bob"):
        await a_user(database, name)
    page = await list_users(database, 2)
    rest: list[User] = await list_users(database, 2, page[-1].name)
    assert [user.name for user in page + rest] == ["ann", "bob", "carl"]
