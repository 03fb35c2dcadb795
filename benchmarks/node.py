"""A node as a process of its own: `windlass node`, ended with whoever measures it."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import child

KEY = "admin key: "
CHATTER = b"[info "
ALL_ROLES = "api,worker,leader"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningNode:
    address: str  # http://host:port with the role api; else the node's name
    pid: int
    key: str | None  # None: there is no API, or the database had a key already

    @property
    def headers(self) -> dict[str, str]:
        assert self.key is not None, "this node made no key"
        return {"Authorization": f"Bearer {self.key}"}


@asynccontextmanager
async def running(
    dsn: str,
    redis_url: str,
    *,
    roles: str = ALL_ROLES,
    app: str | None = None,
    settings: Mapping[str, str] | None = None,
    home: Path = child.ROOT,  # the checkout whose node it is
    command: Sequence[str] | None = None,  # another than this module, to run a node
) -> AsyncIterator[RunningNode]:
    """A node with the settings of somebody who set nothing but `settings`."""
    flags = ["--roles", roles, "--port", str(_free_port())]
    flags += ["--app", app] if app is not None else []
    # A variable that is empty counts as not set: the shell's settings are not what we measure.
    environment = {name: "" for name in os.environ if name.startswith("WINDLASS_")}
    # Not as flags, which everybody on the machine can read: there are passwords in them.
    environment |= {"WINDLASS_DATABASE_URL": dsn, "WINDLASS_REDIS_URL": redis_url}
    environment |= settings or {}
    environment |= child.path_of(home)
    command = [*(command or child.python("benchmarks.node", home)), *flags]
    async with child.serving(command, cwd=home, environment=environment, hush=CHATTER) as server:
        yield RunningNode(address=server.address, pid=server.pid, key=_key(server.said))


def _key(said: tuple[str, ...]) -> str | None:
    keys = (line.removeprefix(KEY) for line in said if line.startswith(KEY))
    return next(keys, None)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def serve() -> int:
    from windlass.cli.launch import launch

    child.end_with_parent()
    return launch(["node", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(serve())
