"""`windlass migrate`: bring a database to this version's tables, or print how."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

app = App(name="migrate", help="Bring a database to this version's tables.")


@app.default
def migrate(
    verb: Literal["up", "status", "sql"] = "up",
    *,
    database_url: Annotated[str | None, Parameter(help="postgresql://…")] = None,
) -> int:
    """`up` applies what is missing, `status` lists it, `sql` prints all of it for a DBA."""
    from windlass.cli.exits import BadUsage
    from windlass.config import load_settings
    from windlass.store.migrate import migrations

    if verb == "sql":
        print("\n".join(migration.sql for migration in migrations()))
        return 0
    flags = {"database_url": database_url} if database_url else {}
    url = load_settings(flags, os.environ, Path.cwd()).settings.database_url
    if url is None:
        raise BadUsage("say which database: --database-url or WINDLASS_DATABASE_URL")
    from windlass.cli.actor import at_the_terminal
    from windlass.model.identity.actor import acting_as

    with acting_as(at_the_terminal()):
        return asyncio.run(_up(url) if verb == "up" else _status(url))


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
