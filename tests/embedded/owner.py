"""A program that owns embedded servers, to be killed or run as somebody else.

    python owner.py DATA [SQL …]

Starts the servers, runs the statements, prints one line of JSON and stays until its input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import asyncpg

from windlass.embedded.servers import EmbeddedServers


async def main(data: Path, *statements: str) -> None:
    async with EmbeddedServers(data, postgres_settings={"max_wal_size": "64MB"}) as servers:
        connection = await asyncpg.connect(servers.database_url)
        answers = [await connection.fetchval(statement) for statement in statements]
        await connection.close()
        story = {
            "answers": answers,
            "pids": [servers.postgres.pid, servers.valkey.pid],
            "urls": [servers.database_url, servers.redis_url],
        }
        print(json.dumps(story), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
