"""`windlass secret reencrypt`: works beside the database and with its keys, as `doctor` does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from windlass.cli.actor import at_the_terminal
from windlass.cli.exits import BadUsage, Exit
from windlass.cli.show.output import say
from windlass.compose.data import database_of
from windlass.compose.embedded import KEY_FILE
from windlass.compose.foreground import DATA
from windlass.config import Settings, load_settings
from windlass.config.secret_key import FILE
from windlass.engine.secrets.reencrypt import Reencrypted, reencrypt_secrets
from windlass.engine.secrets.seal import Sealer, sealer_of
from windlass.model.identity.actor import acting_as
from windlass.store.database import Database


def run_reencrypt(flags: Mapping[str, object]) -> int:
    settings = load_settings(flags, os.environ, Path.cwd()).settings
    sealer = sealer_of(_key(settings))
    if sealer is None:
        raise BadUsage("there is no key to encrypt with: set WINDLASS_SECRET_KEY, as for the nodes")
    with acting_as(at_the_terminal()):
        done = asyncio.run(_reencrypt(settings, sealer))
    what = "version is" if done.count == 1 else "versions are"
    print(f"{done.count} {what} encrypted anew, all under key {sealer.key_id}")
    for name in done.unreadable:
        say(f"error: {name} is under a key that is not in WINDLASS_SECRET_KEY; it stays as it is")
    return Exit.FAILED if done.unreadable else Exit.OK


def _key(settings: Settings) -> str | None:
    """The key of the settings; or that of the data folder, if it is the folder's database."""
    if settings.secret_key is not None or settings.database_url is not None:
        return settings.secret_key
    path = (settings.data or DATA) / KEY_FILE
    return FILE + str(path) if path.exists() else None


async def _reencrypt(settings: Settings, sealer: Sealer) -> Reencrypted:
    async with database_of(settings.database_url, settings.data) as address:
        database = Database(address, application="windlass reencrypt")
        await database.open()
        try:
            return await reencrypt_secrets(
                database, sealer, on_progress=lambda count: say(f"{count} done")
            )
        finally:
            await database.close()
