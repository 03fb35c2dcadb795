"""What `backup` and `restore` share: whose database, progress for who watches, an orderly end.

Promises: the first SIGINT or SIGTERM ends what was begun in good order: no half a file, no process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import asyncpg

from windlass.cli.exits import BadUsage, Exit, Stopped
from windlass.cli.show.progress import is_watched, spinner
from windlass.cli.show.unknown_settings import say_unknown
from windlass.compose.backup.contents import Contents
from windlass.config import Settings, load_settings
from windlass.errors import WindlassError
from windlass.telemetry.outage import reason_text

T = TypeVar("T")

# Refusals that leave everything as it was: scripts tell them from failures.
_CONFLICTS: Final = ("file_there", "folder_occupied", "database_occupied", "data_in_use")


def settings_of(database_url: str | None, data: str | None) -> Settings:
    if database_url and data:
        raise BadUsage("give --database-url or --data, not both: each names a database")
    given = {"database_url": database_url, "data": data}
    flags: dict[str, object] = {name: value for name, value in given.items() if value}
    loaded = load_settings(flags, os.environ, Path.cwd())
    say_unknown(loaded)
    return loaded.settings


def run(work: Coroutine[Any, Any, T], *, left: str) -> T:
    """`left` is what there is when it was interrupted, in words."""
    try:
        return asyncio.run(_until_signalled(work))
    except asyncio.CancelledError:
        raise Stopped(f"interrupted; {left}", Exit.INTERRUPTED) from None
    except WindlassError as trouble:
        if trouble.code in _CONFLICTS:
            raise Stopped(str(trouble), Exit.CONFLICT) from trouble
        raise
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as trouble:
        raise Stopped(f"it cannot go on: {reason_text(trouble)}; {left}") from trouble


async def _until_signalled(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    return await task


@contextlib.contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Who looks at standard error sees how far it is."""
    if not is_watched():
        yield lambda _: None
        return
    with spinner() as tell:
        yield tell


def counted(contents: Contents) -> str:
    """What a database holds, in one line."""
    jobs = f"{contents.jobs:,} job{'s' * (contents.jobs != 1)}"
    if contents.unfinished:
        running = f", {contents.running:,} of them running" if contents.running else ""
        jobs += f" ({contents.unfinished:,} unfinished{running})"
    return ", ".join(
        [
            jobs,
            f"{contents.executions:,} execution{'s' * (contents.executions != 1)}",
            f"{contents.schedules:,} schedule{'s' * (contents.schedules != 1)}",
        ]
    )
