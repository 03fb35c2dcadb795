"""PgBouncer in transaction mode before a PostgreSQL: every transaction may get another session."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import asyncpg

from tests.ports import free_ports
from tests.servers.scratch import scratch_folder
from tests.until import until

# Debian keeps it where a normal user's PATH does not look.
PROGRAM = shutil.which("pgbouncer", path=os.pathsep.join((os.environ["PATH"], "/usr/sbin")))


@asynccontextmanager
async def open_bouncer(database_url: str, *, sessions: int = 4) -> AsyncIterator[str]:
    """The URL through PgBouncer, which shares so few sessions that they go from hand to hand."""
    assert PROGRAM is not None, "install pgbouncer: requirements/setup.sh says how"
    parts = urlsplit(database_url)
    asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
    name, [port] = parts.path.lstrip("/"), free_ports(1)
    with scratch_folder() as folder:
        config = folder / "pgbouncer.ini"
        config.write_text(
            f"[databases]\n{name} = host={asked['host']} port={asked['port']} "
            f"user={parts.username} password={parts.password}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\n"
            f"pool_mode = transaction\ndefault_pool_size = {sessions}\nmax_client_conn = 200\n"
            "unix_socket_dir =\n"
        )
        # It refuses to be root; PostgreSQL's own account may enter the folder of its socket.
        owner = await asyncio.to_thread(os.stat, asked["host"])
        process = await asyncio.create_subprocess_exec(
            *(PROGRAM, "-q", str(config)),
            user=owner.st_uid,
            group=owner.st_gid,
            extra_groups=[] if os.geteuid() == 0 else None,
        )
        url = f"postgresql://{parts.username}@127.0.0.1:{port}/{name}?pgbouncer=true"
        try:
            await until(lambda: _answers(url, process), what="PgBouncer answers")
            yield url
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            await process.wait()


async def _answers(url: str, process: asyncio.subprocess.Process) -> bool:
    assert process.returncode is None, "PgBouncer has ended"
    try:
        connection = await asyncpg.connect(url.partition("?")[0], timeout=2)
    except (OSError, TimeoutError, asyncpg.PostgresError):
        return False
    await connection.execute("SELECT 1")
    await connection.close()
    return True
