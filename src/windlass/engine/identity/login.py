"""Logging in with a name and a password, throttled.

    a turn at hashing -> one try is counted -> compared -> a session

Promises: who guesses has a few tries of a user from an address, some more from an address whatever
the user, and a bound for a user wherever from; which of them is spent is not told, nor whether
there is such a user: an unknown one is throttled and compared just as well. Tries are counted in
PostgreSQL before anything is compared, so a thousand at once are no more than one after another; a
try that is refused counts for nothing. A one-time password lets in once.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Final
from uuid import UUID

from windlass import ids
from windlass.engine.audit.record import Entry, record
from windlass.engine.audit.refused import RefusedRecorder
from windlass.engine.identity.passwords import Passwords
from windlass.engine.identity.sessions import BegunSession, begin_session
from windlass.errors import TooManyTries, Unauthorized
from windlass.limits import (
    LOGIN_ADDRESS_BURST,
    LOGIN_ADDRESS_SECONDS,
    LOGIN_BURST,
    LOGIN_SECONDS,
    LOGIN_USER_BURST,
    LOGIN_USER_SECONDS,
    SIGN_ON_ADDRESS_BURST,
    SIGN_ON_ADDRESS_SECONDS,
)
from windlass.model.identity.actor import acting
from windlass.model.json.storable import harmless_text
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

# Of IPv6 everybody has as many addresses as he likes, of one network.
_NETWORK_BITS: Final = 64


class LoginFailed(Unauthorized):
    """The name or the password is not right; which of them, is not told."""

    code = "login_failed"

    def __init__(self) -> None:
        super().__init__(
            "the name or the password is not right, or the user is disabled, or its one-time "
            "password is too old; an admin can give a new one"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    user_id: UUID
    session: BegunSession


async def log_in(
    database: Database,
    passwords: Passwords,
    *,
    name: str,
    password: str,
    address: str,
    device: str,
    refusals: RefusedRecorder,
) -> Login:
    """Raises LoginFailed, TooManyTries, PasswordsBusy."""
    subjects = _subjects(name, address)
    async with passwords.turn():
        try:
            await _count(database, subjects)
        except TooManyTries:
            await refusals.record(database, partial(_throttled, database, name))
            raise
        rows = await _find(database, name)
        user = rows[0] if rows else None
        hashed = user["password_hash"] if user is not None else None
        is_right = await passwords.compare(password, hashed)
        if not is_right or user is None or not user["is_good"]:
            await refusals.record(database, partial(_failed, user, name, is_right=is_right))
            raise LoginFailed
        fresh = await passwords.hash_in_turn(password) if passwords.is_dated(hashed) else None

    async def work(connection: Connection[Record]) -> BegunSession | None:
        begun = await begin_session(connection, user["id"], address=address, device=device)
        if begun is not None:
            if not await connection.fetch(statement("user_password_used"), user["id"], hashed):
                raise LoginFailed  # it was changed while it was compared
            await clear_tries(connection, subjects[0][0])
            if fresh is not None:
                await connection.fetch(statement("user_rehash"), user["id"], hashed, fresh)
            await record(connection, logged_in(user["id"], name, begun.id, device))
        return begun

    begun = await database.ask(work, about=("user", user["id"]))
    if begun is None:
        raise LoginFailed
    return Login(user_id=user["id"], session=begun)


async def count_own_try(database: Database, user_id: UUID) -> bytes:
    """One try more of a user who has a session to say his password. Returns what `clear_tries`
    takes. Raises TooManyTries.
    """
    subject = _hashed("own", user_id.hex)
    await _count(database, [(subject, LOGIN_BURST, LOGIN_SECONDS)])
    return subject


async def clear_tries(connection: Connection[Record], subject: bytes) -> None:
    """Whoever knew it begins anew. In the caller's transaction."""
    await connection.fetch(statement("login_try_clear"), subject)


async def count_beginning(database: Database, address: str) -> None:
    """Somebody begins to log in elsewhere (engine.identity.sign_on). Raises TooManyTries."""
    subject = _hashed("elsewhere", _network(address))
    await _count(database, [(subject, SIGN_ON_ADDRESS_BURST, SIGN_ON_ADDRESS_SECONDS)])


def logged_in(
    user_id: UUID, name: str, session_id: UUID, device: str, issuer: str | None = None
) -> Entry:
    """For the audit log. `issuer` None: with a password. Whoever acts was nobody when he came."""
    after = {"device": device} if issuer is None else {"device": device, "issuer": issuer}
    return Entry(
        action="session.login",
        id=ids.show("session", session_id),
        name=name,
        after=after,
        actor=replace(
            acting(),
            kind="user",
            id=ids.show("user", user_id),
            name=name,
            credential_id=session_id,
        ),
    )


async def _find(database: Database, name: str) -> list[Record]:
    """What cannot be kept is nobody's name."""
    return await database.read("user_login", name) if harmless_text(name) == name else []


async def _failed(user: Record | None, name: str, *, is_right: bool) -> Entry:
    """Of a name that nobody has nothing is shown: it may be a password in the wrong field."""
    if user is None:
        return Entry(action="session.login_failed", note="there is no such user")
    why = "the user may not come in, or its one-time password is too old"
    note = why if is_right else "wrong password"
    shown = ids.show("user", user["id"])
    return Entry(action="session.login_failed", id=shown, name=name, note=note)


async def _throttled(database: Database, name: str) -> Entry:
    rows = await _find(database, name)
    action = "session.login_throttled"
    if not rows:
        return Entry(action=action, note="there is no such user")
    return Entry(action=action, id=ids.show("user", rows[0]["id"]), name=name)


async def _count(database: Database, subjects: list[tuple[bytes, int, float]]) -> None:
    """One try more. Raises TooManyTries, and then counts it under none of them."""
    ordered = sorted(subjects)

    async def work(connection: Connection[Record]) -> None:
        refused = await connection.fetch(
            statement("login_try_take"),
            [subject for subject, _, _ in ordered],
            [(burst - 1) * seconds for _, burst, seconds in ordered],
            [seconds for _, _, seconds in ordered],
        )
        if refused:
            raise TooManyTries(max(row["wait_seconds"] for row in refused))

    await database.together(work)


def _subjects(name: str, address: str) -> list[tuple[bytes, int, float]]:
    """What a try counts for, with its burst and its pace; the user at the address first."""
    network = _network(address)
    return [
        (_hashed("both", name, network), LOGIN_BURST, LOGIN_SECONDS),
        (_hashed("address", network), LOGIN_ADDRESS_BURST, LOGIN_ADDRESS_SECONDS),
        (_hashed("user", name), LOGIN_USER_BURST, LOGIN_USER_SECONDS),
    ]


def _hashed(*parts: str) -> bytes:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()[:16]


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, _NETWORK_BITS), strict=False))
    return address
