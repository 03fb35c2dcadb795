"""Check under which role we work: which right lacks, what is too much, and is the wire encrypted?

A right that lacks is a finding: some statement will fail one day; so is a function with its owner's
rights that anybody may call. A role that may do more than a
node needs, and a connection that anybody on the way can read, are the owner's to judge: notes.
"""

from __future__ import annotations

from typing import Final

from windlass.engine.doctor.finding import Finding
from windlass.store.database import Database
from windlass.store.roles import Standing, lacking, open_functions, standing_of

_GUIDE: Final = "see docs/operating/least-privilege.md"
_SHOWN_MAX: Final = 50


async def check_privileges(database: Database) -> tuple[list[str], list[Finding]]:
    """Notes and findings."""
    async with database.side(readonly=True) as connection:
        standing = await standing_of(connection)
        missing = await lacking(connection, standing.role)
        opened = await open_functions(connection)
    if not standing.may_read:  # not even what is there
        missing = missing or ["GRANT USAGE ON SCHEMA windlass"]
    findings = [
        Finding(
            check="rights",
            subject=f"role {standing.role}",
            detail=f"lacks a right that a node needs ({said}); as the owner of schema windlass "
            f"run: windlass migrate role {standing.role}",
        )
        for said in missing[:_SHOWN_MAX]
    ]
    findings += [
        Finding(
            check="rights",
            subject=name,
            detail="may be called by anybody, with its owner's rights, as after a restore without "
            f"rights; as {standing.owner} run: windlass migrate up",
        )
        for name in opened[:_SHOWN_MAX]
    ]
    return [_role_note(standing), _wire_note(standing, is_verified=database.is_verified)], findings


def _role_note(standing: Standing) -> str:
    if standing.is_superuser:
        return (
            f"PostgreSQL: as {standing.role}, a superuser: whoever has its password has the whole "
            f"server; {_GUIDE}"
        )
    if not standing.is_guest:
        return (
            f"PostgreSQL: as {standing.role}, which owns schema windlass and could drop it; a node "
            f"needs less: {_GUIDE}"
        )
    more = {
        f"may make schemas in {standing.database}": standing.makes_schemas,
        "may make roles": standing.makes_roles,
    }
    too_much = " and ".join(what for what, is_so in more.items() if is_so)
    return f"PostgreSQL: as {standing.role}, which " + (
        f"{too_much}, and needs not; {_GUIDE}" if too_much else "owns nothing, as a node should"
    )


def _wire_note(standing: Standing, *, is_verified: bool) -> str:
    if standing.tls is not None:
        return f"PostgreSQL: encrypted with {standing.tls}" + (
            "" if is_verified else "; who answers is not checked: sslmode=verify-full does"
        )
    if standing.is_local:
        return "PostgreSQL: by a socket of its machine"
    return f"PostgreSQL: not encrypted; whoever is on the way reads all of it: {_GUIDE}"
