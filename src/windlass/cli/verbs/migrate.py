"""`windlass migrate`: bring a database to this version's tables, or print how."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

app = App(name="migrate", help="Bring a database to this version's tables.")
_Url = Annotated[str | None, Parameter(help="postgresql://…")]


@app.default
def migrate(
    verb: Literal["up", "status", "sql"] = "up",
    *,
    database_url: _Url = None,
) -> int:
    """`up` applies what is missing, `status` lists it, `sql` prints all of it for a DBA."""
    from windlass.cli.actor import at_the_terminal
    from windlass.model.identity.actor import acting_as
    from windlass.store.migrate import migrations

    if verb == "sql":
        print("\n".join(migration.sql for migration in migrations()))
        return 0
    url = _database(database_url)
    with acting_as(at_the_terminal()):
        return asyncio.run(_up(url) if verb == "up" else _status(url))


@app.command
def role(
    name: Annotated[str, Parameter(help="A role of PostgreSQL that may only log in.")],
    /,
    *,
    submitter: Annotated[bool, Parameter(help="It only calls windlass.enqueue.")] = False,
    revoke: Annotated[bool, Parameter(help="Take all its rights away.")] = False,
    sql: Annotated[bool, Parameter(help="Print what is to be said, for a DBA.")] = False,
    database_url: _Url = None,
) -> int:
    """Give a role the rights that a node needs and no others; say it as the owner of the tables.

    Repeat it as you like. After an upgrade `windlass migrate up` gives what is new by itself.
    """
    from windlass.cli.actor import at_the_terminal
    from windlass.cli.exits import BadUsage
    from windlass.model.identity.actor import acting_as
    from windlass.store.roles import RoleKind, give_rights

    if revoke and submitter:
        raise BadUsage("give --submitter or --revoke, not both")
    kind: RoleKind | None = None if revoke else "submitter" if submitter else "node"
    with acting_as(at_the_terminal()):
        said = asyncio.run(give_rights(_database(database_url), name, kind, is_trial=sql))
    if sql:
        print("".join(f"{sentence};\n" for sentence in said), end="")
    elif not said:
        print(f"nothing to do: {name} has these rights" if kind else f"{name} has no rights")
    elif kind is None:
        print(f"{name} has no rights to schema windlass any more")
    else:
        print(f"{name} has the rights of a {kind} now: {len(said)} statements")
    return 0


def _database(given: str | None) -> str:
    from windlass.cli.exits import BadUsage
    from windlass.config import load_settings

    flags = {"database_url": given} if given else {}
    url = load_settings(flags, os.environ, Path.cwd()).settings.database_url
    if url is None:
        raise BadUsage("say which database: --database-url or WINDLASS_DATABASE_URL")
    return url


async def _up(url: str) -> int:
    from windlass.store.migrate import migrate

    applied = await migrate(url)
    for migration in applied:
        print(f"applied {migration.name}")
    if not applied:
        print("nothing to do: the database is up to date")
    return 0


async def _status(url: str) -> int:
    from windlass.store.address import Address
    from windlass.store.migrate import migrations, pending

    connection = await Address(url).connect()
    try:
        async with connection.transaction(readonly=True):
            missing = {migration.number for migration in await pending(connection)}
    finally:
        await connection.close()
    for migration in migrations():
        print(f"{'missing' if migration.number in missing else 'applied'}  {migration.name}")
    return 1 if missing else 0
