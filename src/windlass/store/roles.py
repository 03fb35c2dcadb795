"""Roles of PostgreSQL with the least rights: of a node, and of a program that only submits by SQL.

The owner of schema windlass migrates. A node may log in as a role that owns nothing: it reads and
writes rows, and what takes an owner (to make and drop days of the history) functions do with the
owner's rights, each within its bounds. A submitter may call `windlass.enqueue` and nothing else.

Owns: which rights each kind of role has (sql/role/role_rights.sql), and who was given them.
Promises: to give them again changes nothing; what a role has of ours beyond its kind is taken away;
after a migration each role has its rights to what is new. Functions with the owner's rights are
nobody else's: where a restore left them open to PUBLIC, whoever migrates or gives rights closes
them. A role that could do as it likes anyway is refused: rights of ours would promise what is not
so.
Never: makes a role, or knows a password.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import asyncpg

from windlass import ids
from windlass.config.redaction import where_of
from windlass.errors import RightsMissing, RoleUnfit, Unavailable
from windlass.model.identity.actor import acting
from windlass.store.address import Address, tls_of
from windlass.store.statements import statement
from windlass.telemetry.outage import reason_text

Session: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
RoleKind = Literal["node", "submitter"]
_KNOWS_ROLES: Final = "SELECT to_regclass('windlass.role_grant')"
# Two who give rights to the same table at once would meet in the catalogue.
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('windlass.role_grant'))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """As whom we are logged in, and what that role may do beyond what a node needs."""

    role: str
    owner: str | None  # of schema windlass; None: there is none yet
    is_owner: bool  # or a member of who is
    is_superuser: bool
    makes_schemas: bool
    makes_roles: bool
    may_read: bool  # which migrations there are
    tls: str | None  # version and cipher; None: what is said goes over the wire as it is
    is_local: bool  # by a socket of this machine
    database: str

    @property
    def is_guest(self) -> bool:
        """Somebody else owns the schema, and alone may change it."""
        return self.owner is not None and not self.is_owner


async def reached(url: str) -> Session:
    """A connection for whoever changes tables and rights. Raises Unavailable."""
    try:
        return await Address(url).connect(seconds=30, command_timeout=600)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as trouble:
        raise Unavailable(
            f"PostgreSQL at {where_of(url)} cannot be reached: {reason_text(trouble)}"
        ) from trouble


async def standing_of(connection: Any) -> Standing:
    async with connection.transaction(readonly=True):
        row = await connection.fetchrow(statement("role_standing"))
    assert row is not None, "everybody who is logged in is a role"
    return Standing(**dict(row), tls=tls_of(connection))


async def lacking(connection: Any, role: str, kind: RoleKind = "node") -> list[str]:
    """What would give a role the rights that it lacks, a statement each."""
    rows = await connection.fetch(statement("role_rights"), role, kind)
    return [row["said"] for row in rows if row["is_grant"]]


async def open_functions(connection: Any) -> list[str]:
    """Those with their owner's rights that anybody may call."""
    rows = await connection.fetch(statement("role_closed"))
    return [row["subject"] for row in rows if row["said"].startswith("REVOKE")]


async def close_functions(connection: Session) -> None:
    """Take them from everybody who was not given them; as far as they are ours."""
    if not await _closing(connection):
        return
    async with connection.transaction():
        await connection.execute(_LOCK)
        await _say(connection, await _closing(connection))


async def refuse_lacking(connection: Session, standing: Standing) -> None:
    if missing := await lacking(connection, standing.role):
        raise RightsMissing(standing.role, standing.owner, missing)


async def give_rights(
    url: str, role: str, kind: RoleKind | None, *, is_trial: bool = False
) -> list[str]:
    """Give a role the rights of this kind and no others; None: take all of them away.

    Returns what was said to the server, or is to be said (`is_trial`). Raises RoleUnfit, also
    where we are not the owner.
    """
    connection = await reached(url)
    try:
        async with connection.transaction():
            await _refuse_unfit(connection, role)
            if not is_trial:
                await _refuse_guest(connection)
                await connection.execute(_LOCK)
            closing = await connection.fetch(statement("role_closed"))
            said = [row["said"] for row in closing]
            said += await _sentences(connection, role, kind)
            if said and not is_trial:
                actor = acting()
                entry = ids.uuid7(), actor.kind, actor.name, role, kind, len(said)
                await connection.execute(statement("audit_grant"), *entry)
                await _say(connection, said)
            return said
    finally:
        await connection.close()


async def renew_rights(connection: Session) -> None:
    """Everybody who was given rights gets those to what a migration or a restore brought."""
    await close_functions(connection)
    if await connection.fetchval(_KNOWS_ROLES) is None:
        return
    async with connection.transaction():
        await connection.execute(_LOCK)
        for row in await connection.fetch(statement("role_known")):
            await _say(connection, await _sentences(connection, row["name"], row["kind"]))


async def _closing(connection: Session) -> list[str]:
    rows = await connection.fetch(statement("role_closed"))
    return [row["said"] for row in rows if row["is_ours"]]


async def _sentences(connection: Session, role: str, kind: str | None) -> list[str]:
    rows = await connection.fetch(statement("role_rights"), role, kind)
    noted = await connection.fetch(statement("role_note"), role, kind)
    return [row["said"] for row in (*rows, *noted)]


async def _say(connection: Session, sentences: Sequence[str]) -> None:
    if sentences:
        await connection.execute(";\n".join(sentences))


async def _refuse_guest(connection: Session) -> None:
    standing = await standing_of(connection)
    if standing.is_guest:
        raise RoleUnfit(
            f"the role {standing.role!r} may give nobody rights to schema windlass; "
            f"do this as its owner, {standing.owner!r}, or print what is to be said with --sql"
        )


async def _refuse_unfit(connection: Session, role: str) -> None:
    if await connection.fetchval(_KNOWS_ROLES) is None:
        raise RoleUnfit("there is no schema windlass of this release; run `windlass migrate up`")
    row = await connection.fetchrow(statement("role_fitness"), role)
    if row is None:
        raise RoleUnfit(
            f"there is no role {role!r} in this PostgreSQL; "
            "make it first: CREATE ROLE … LOGIN PASSWORD '…'"
        )
    why = {
        "is a superuser": row["is_superuser"],
        "owns schema windlass, or is a member of the role that does": row["is_owner"],
        "may copy the whole server (REPLICATION)": row["replicates"],
        "may make roles, and itself a member of others (CREATEROLE)": row["makes_roles"],
        f"is a member of {', '.join(row['takes_part'])}": bool(row["takes_part"]),
    }
    for reason, is_so in why.items():
        if is_so:
            raise RoleUnfit(
                f"the role {role!r} {reason}, so no rights of ours would bound it; "
                "make one that may only log in: CREATE ROLE … LOGIN PASSWORD '…'"
            )
