"""Users: made, changed, given quotas, disabled, deleted; passwords chosen and reset.

Owns: the only statements that write users (the first of all: engine.identity.first).
Promises: there is always an admin who may come in, whoever changes whom at the same moment; one
whose one-time password is spent is none, unless he comes from an identity provider. A user
who gets another role, is disabled or gets another password has no session of before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, TypeVar
from uuid import UUID

from windlass import ids
from windlass.engine.audit.record import Entry, ask_and_record, differences, record
from windlass.engine.identity.first import one_time_password
from windlass.engine.identity.keys import quota_in, quota_text, restart_count
from windlass.engine.identity.login import clear_tries, count_own_try
from windlass.engine.identity.passwords import Passwords
from windlass.engine.identity.sessions import (
    IDLE,
    BegunSession,
    end_sessions_in,
    rotate_session,
)
from windlass.errors import Conflict, Forbidden, InvalidInput, NotFound
from windlass.limits import NAMESAKES_MAX, ONE_TIME_SECONDS
from windlass.model.identity.claims import namesake
from windlass.model.identity.quota import Quota
from windlass.model.identity.rights import Role
from windlass.model.json.etag import UNCONDITIONAL, Precondition, tag_of
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

T = TypeVar("T")

GOOD_SECONDS: Final = float(ONE_TIME_SECONDS)


class LastAdmin(Conflict):
    """Nobody would be left who may say who may."""

    code = "last_admin"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"{name!r} is the last admin who may come in: make somebody else an admin first; one "
            "whose one-time password was used up or is too old needs another before he counts"
        )


class NameTaken(Conflict):
    """There is a user of this name."""

    code = "name_taken"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"there is a user {name!r} already; choose another name")


class WrongPassword(Forbidden):
    """The password of before is another one."""

    code = "wrong_password"

    def __init__(self) -> None:
        super().__init__("the old password is not right; nothing was changed")


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    id: UUID
    name: str
    role: Role
    has_password: bool  # False: signs in elsewhere only
    must_change_password: bool
    issuer: str | None  # None: known here only
    created_at: datetime
    changed_at: datetime
    last_login_at: datetime | None  # None: never
    disabled_at: datetime | None  # None: may come in
    quota: Quota  # of its own
    sessions: int

    @property
    def etag(self) -> str:
        return tag_of(self.created_at, self.role, self.disabled_at is None, *astuple(self.quota))


@dataclass(frozen=True, slots=True, kw_only=True)
class UserElsewhere:
    """A user of an identity provider, as far as logging in needs it."""

    id: UUID
    name: str
    role: Role
    is_disabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedUser:
    user: User
    ended: list[bytes]  # hashes of the tokens of sessions that ended, or have another quota
    session: BegunSession | None = None  # of whoever changed himself, under another token


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPassword:
    user: User
    ended: list[bytes]
    password: str | None = field(repr=False, default=None)  # one-time; None: the user chose it


async def list_users(database: Database, limit: int, after: str = "") -> list[User]:
    """By name, from the one that follows `after`."""
    return [_user(row) for row in await database.read("user_list", after, limit, None, None, IDLE)]


async def read_user(database: Database, which: UUID | str) -> User:
    """By id, or by name. Raises NotFound."""
    rows = await database.read("user_list", *_asked(which))
    if not rows:
        raise _missing(which)
    return _user(rows[0])


async def add_user(
    database: Database, passwords: Passwords, name: str, role: Role, password: str | None
) -> NewPassword:
    """`password` None: a one-time password is made, which is in the answer. Raises NameTaken."""
    one_time = one_time_password() if password is None else None
    hashed = await passwords.hash(one_time or password or "")
    user_id = ids.uuid7()
    after = {"role": role, "is_one_time": one_time is not None}
    entry = Entry(action="user.add", id=ids.show("user", user_id), name=name, after=after)
    made = await ask_and_record(
        *(database, "user_add", user_id, name, role, hashed, one_time is not None, GOOD_SECONDS),
        entries=lambda _rows: [entry],
    )
    if not made:
        raise NameTaken(name)
    return NewPassword(user=await read_user(database, user_id), ended=[], password=one_time)


async def find_user_elsewhere(
    database: Database, issuer: str, subject: str
) -> UserElsewhere | None:
    """Whom an identity provider means. None: nobody yet."""
    rows = await database.read("user_elsewhere", issuer, subject)
    return UserElsewhere(**dict(rows[0])) if rows else None


async def add_user_elsewhere(
    database: Database, *, issuer: str, subject: str, name: str, role: Role
) -> UserElsewhere:
    """Without a password. Somebody who has the name already never becomes the same user: the new
    one gets a number behind it. Raises NameTaken when there are too many of them.
    """
    for number in range(1, NAMESAKES_MAX + 1):
        called = namesake(name, number)
        await _add_elsewhere(database, issuer, subject, called, role)
        # It may have been made by another login of the same person at this very moment.
        if (user := await find_user_elsewhere(database, issuer, subject)) is not None:
            return user
    raise NameTaken(name)


async def _add_elsewhere(
    database: Database, issuer: str, subject: str, name: str, role: Role
) -> None:
    """Unless somebody has the name, or the subject is known."""
    user_id = ids.uuid7()
    after = {"role": role, "issuer": issuer}
    entry = Entry(action="user.add", id=ids.show("user", user_id), name=name, after=after)
    await ask_and_record(
        *(database, "user_add_elsewhere", user_id, name, role, issuer, subject),
        entries=lambda _rows: [entry],
    )


async def change_user(
    database: Database,
    which: UUID | str,
    *,
    role: Role | None,  # None: as before
    is_disabled: bool | None,  # None: as before
    quota: Mapping[str, Any] = MappingProxyType({}),  # what is said of it; None takes away
    wanted: Precondition = UNCONDITIONAL,
    session_id: UUID | None = None,  # of whoever asks: if he changes himself, it goes on
) -> ChangedUser:
    """Another quota ends nothing. Raises NotFound, LastAdmin, PreconditionFailed, InvalidInput."""

    async def work(connection: Connection[Record]) -> ChangedUser:
        user = await _find_in(connection, which)
        wanted.check("user", user.name, user.etag)
        stays = (role or user.role) == "admin" and not is_disabled
        if not stays:
            await _check_not_last(connection, user)
        is_other = (role is not None and role != user.role) or (
            is_disabled is not None and is_disabled != (user.disabled_at is not None)
        )
        stale = await _set_quota(connection, user, quota)
        entry = _changed(user, role, is_disabled, user.quota.changed(quota))
        if entry.after:
            await record(connection, entry)
        if not is_other:
            return ChangedUser(user=await _find_in(connection, user.id), ended=stale)
        await connection.fetch(statement("user_change"), user.id, role, is_disabled)
        kept = None if is_disabled else session_id
        ended = stale + await end_sessions_in(connection, user.id, kept)
        session = None
        if session_id is not None and not is_disabled:
            session = await rotate_session(connection, session_id)
            ended += session.ended if session is not None else []
        return ChangedUser(user=await _find_in(connection, user.id), ended=ended, session=session)

    return await _alone(database, work)


async def _set_quota(
    connection: Connection[Record], user: User, change: Mapping[str, Any]
) -> list[bytes]:
    """The hashes of the tokens of sessions whose copies have the one of before."""
    quota = user.quota.changed(change)
    if quota == user.quota:
        return []
    rows = await connection.fetch(statement("user_set_quota"), user.id, quota_text(quota))
    await restart_count(connection, user.id, user.quota, quota)
    return [row["hash"] for row in rows]


async def delete_user(database: Database, which: UUID | str) -> list[bytes]:
    """With sessions, whose hashes are returned, and keys. Raises NotFound, LastAdmin."""

    async def work(connection: Connection[Record]) -> list[bytes]:
        user = await _find_in(connection, which)
        await _check_not_last(connection, user)
        ended = await end_sessions_in(connection, user.id)
        await connection.fetch(statement("user_delete"), user.id)
        before = {"role": user.role, "is_disabled": user.disabled_at is not None}
        await record(connection, replace(_entry("user.delete", user), before=before))
        return ended

    return await _alone(database, work)


async def reset_password(
    database: Database, passwords: Passwords, which: UUID | str
) -> NewPassword:
    """A one-time password instead of the one that was lost; every session ends. Raises NotFound."""
    password = one_time_password()
    hashed = await passwords.hash(password)

    async def work(connection: Connection[Record]) -> NewPassword:
        user = await _find_in(connection, which)
        await connection.fetch(statement("user_set_password"), user.id, hashed, True, GOOD_SECONDS)
        ended = await end_sessions_in(connection, user.id)
        await record(connection, _entry("user.reset_password", user))
        return NewPassword(user=await _find_in(connection, user.id), ended=ended, password=password)

    return await _alone(database, work)


async def choose_password(
    database: Database,
    passwords: Passwords,
    user_id: UUID,
    *,
    old: str,
    new: str,
    session_id: UUID,  # of whoever asks: it goes on under another token
) -> ChangedUser:
    """By who knows the one before. His other sessions end. Raises WrongPassword, TooManyTries,
    PasswordsBusy.
    """
    rows = await database.read("user_password", user_id)
    hashed = rows[0]["password_hash"] if rows else None
    async with passwords.turn():
        tried = await count_own_try(database, user_id)
        if not await passwords.compare(old, hashed):
            raise WrongPassword
        if old == new:
            raise InvalidInput.at("/new", "is the password of before; choose another one")
        new_hash = await passwords.hash_in_turn(new)

    async def work(connection: Connection[Record]) -> ChangedUser:
        now = await connection.fetch(statement("user_password"), user_id)
        if not now or now[0]["password_hash"] != hashed:
            raise WrongPassword  # somebody was faster
        await connection.fetch(statement("user_set_password"), user_id, new_hash, False, 0.0)
        await clear_tries(connection, tried)
        ended = await end_sessions_in(connection, user_id, session_id)
        session = await rotate_session(connection, session_id)
        ended += session.ended if session is not None else []
        user = await _find_in(connection, user_id)
        await record(connection, _entry("user.choose_password", user))
        return ChangedUser(user=user, ended=ended, session=session)

    return await _alone(database, work)


async def _alone(database: Database, work: Callable[[Connection[Record]], Awaitable[T]]) -> T:
    """With everybody else kept out who decides by what users there are."""

    async def in_turn(connection: Connection[Record]) -> T:
        await connection.fetch(statement("identity_lock"))
        return await work(connection)

    return await database.ask(in_turn, about="identity")


async def _check_not_last(connection: Connection[Record], user: User) -> None:
    if user.role != "admin" or user.disabled_at is not None:
        return
    rows = await connection.fetch(statement("user_other_admin"), user.id)
    if not rows[0]["is_any"]:
        raise LastAdmin(user.name)


def _entry(action: str, user: User) -> Entry:
    return Entry(action=action, id=ids.show("user", user.id), name=user.name)


def _changed(user: User, role: Role | None, is_disabled: bool | None, quota: Quota) -> Entry:
    """From what the user is to what is asked for."""
    was: dict[str, Any] = {"role": user.role, "is_disabled": user.disabled_at is not None}
    was["quota"] = user.quota.given
    asked = {"role": role, "is_disabled": is_disabled, "quota": quota.given}
    becomes = {**was, **{name: value for name, value in asked.items() if value is not None}}
    before, after = differences(was, becomes)
    return replace(_entry("user.change", user), before=before, after=after)


async def _find_in(connection: Connection[Record], which: UUID | str) -> User:
    rows = await connection.fetch(statement("user_list"), *_asked(which))
    if not rows:
        raise _missing(which)
    return _user(rows[0])


def _asked(which: UUID | str) -> tuple[str, int, UUID | None, str | None, float]:
    """For user_list, of one."""
    if isinstance(which, UUID):
        return "", 1, which, None, IDLE
    return "", 1, None, which, IDLE


def _missing(which: UUID | str) -> NotFound:
    return NotFound("user", ids.show("user", which) if isinstance(which, UUID) else which)


def _user(row: Record) -> User:
    return User(**{**dict(row), "quota": quota_in(row["quota"])})
