"""A program that starts embedded servers and is killed on its way there.

    python crashing.py DATA EVENT NUMBER

EVENT is one of Python's audit events, before which it is killed, or `execute`: a statement of
PostgreSQL's, after which it is. Without EVENT it stops in good order.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import asyncpg

from windlass.embedded.servers import EmbeddedServers


class Crash:
    def __init__(self, event: str, number: int) -> None:
        self._event, self._left = event, number

    def hear(self, event: str, _: tuple[Any, ...] = ()) -> None:
        if event == self._event:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def arm(crash: Crash) -> None:
    sys.addaudithook(crash.hear)
    driver: Any = asyncpg.Connection
    execute = driver.execute

    async def executed(self: asyncpg.Connection, *args: Any, **options: Any) -> str:
        said: str = await execute(self, *args, **options)
        crash.hear("execute")
        return said

    driver.execute = executed


async def main(data: Path) -> None:
    async with EmbeddedServers(data, postgres_settings={"fsync": "off"}):
        pass


if __name__ == "__main__":
    if len(sys.argv) > 2:
        arm(Crash(sys.argv[2], int(sys.argv[3])))
    asyncio.run(main(Path(sys.argv[1])))
