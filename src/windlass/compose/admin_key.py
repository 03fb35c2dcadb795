"""The admin key of `windlass up` as files, and a new one in place of a lost one.

What lies where, and who may use it, is said by sdk.http.local_key, which reads what is written
here. Files are written whole or not at all, and for this user alone.

Promises: a record is there while the server runs and names the process that holds the port; one
that a killed process left is replaced by the next start, and believed by nobody meanwhile.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import asyncpg

from windlass import ids
from windlass.compose.data import database_of
from windlass.compose.foreground import DATA, MissingSetting
from windlass.compose.private_file import write_private
from windlass.config import Settings
from windlass.embedded.valkey import EmbeddedValkey
from windlass.engine.cluster.node_signals import Signaller
from windlass.engine.identity.first import is_key, reset_admin_key
from windlass.fastlane.lane import FastLane
from windlass.fastlane.signals import Signals
from windlass.sdk.http.local_key import (
    KEY_FILE,
    SERVING_FILE,
    is_alive,
    process_began,
    read_private,
    read_record,
    record_name,
    state_folder,
)
from windlass.store.database import Database

RECORDS_MAX: Final = 1_000
TELL_SECONDS: Final = 10.0


async def keep_key(database: Database, data: Path, made: str | None) -> bool:
    """Put `made` into the folder, if a key was made just now; is there one that opens the API?"""
    if made is not None:
        write_private(data / KEY_FILE, made)
        return True
    try:
        kept = read_private(data / KEY_FILE).strip()
    except (OSError, ValueError):
        return False
    return await is_key(database, kept)


@contextlib.contextmanager
def recorded(data: Path, host: str, port: int, pid: int) -> Iterator[None]:
    """While inside, whoever may read the folder can tell that it is served there, and by whom."""
    data = data.resolve()
    serving = {"host": host, "port": port, "pid": pid, "began": process_began(pid)}
    write_private(data / SERVING_FILE, json.dumps(serving))
    pointer = _point(data, record_name(host, port))
    try:
        yield
    finally:
        for path in (data / SERVING_FILE, pointer):
            with contextlib.suppress(OSError):
                if path is not None:
                    path.unlink(missing_ok=True)


def _point(data: Path, name: str) -> Path | None:
    """A way to the folder from any other; None: this user has no place for it, and needs none."""
    state = state_folder()
    if state is None:
        return None
    with contextlib.suppress(OSError):
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        _discard_stale(state)
        write_private(state / name, json.dumps({"data": str(data)}))
        return state / name
    return None


def _discard_stale(state: Path) -> None:
    """What killed servers left."""
    for path in sorted(state.iterdir())[:RECORDS_MAX]:
        folder = read_record(path).get("data")
        if isinstance(folder, str) and not is_alive(read_record(Path(folder) / SERVING_FILE)):
            path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyReset:
    key: str
    path: Path | None  # where it is kept; None: in no file
    untold: Sequence[str]  # nodes that may believe an old key for some seconds more


async def reset_key(settings: Settings) -> KeyReset:
    """A new admin key; when this returns the old ones are refused by every node that was told."""
    folder = (settings.data or DATA) if settings.database_url is None else None
    async with database_of(settings.database_url, settings.data) as address:
        database = Database(address, application="windlass key reset")
        await database.open()
        try:
            key = await reset_admin_key(database)
            path = folder / KEY_FILE if folder is not None else None
            if path is not None:
                write_private(path, key)
            redis_url = settings.redis_url if folder is None else EmbeddedValkey(folder).url()
            return KeyReset(key=key, path=path, untold=await tell_nodes(database, redis_url))
        except asyncpg.UndefinedTableError:
            raise MissingSetting(
                "this database has no tables of Windlass; start a node on it, which prints a key"
            ) from None
        finally:
            await database.close()


async def tell_nodes(database: Database, redis_url: str | None) -> Sequence[str]:
    """Let no node believe what it has seen of keys; returns those that did not say they do."""
    lane = FastLane(redis_url)
    await lane.open()
    try:
        sender = ids.show("node", ids.uuid7())
        told = await Signaller(database, Signals(lane), lambda: sender).signal(
            None, "invalidate", {"key": []}, TELL_SECONDS
        )
    finally:
        await lane.close()
    refused = [node for node, answer in told.answers.items() if "error" in answer]
    return sorted([*told.missing, *refused])
