"""A cache of workflow definitions: published versions never change, so a node reads each once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from windlass.engine.cache.cache import Cache, Codec
from windlass.engine.cache.registry import Caches
from windlass.engine.executions.workflows import Version, read_version
from windlass.errors import NotFound
from windlass.store.database import Database

CACHE: Final = "definition"

_Key = tuple[str, int]


class Definitions:
    def __init__(self, database: Database, caches: Caches) -> None:
        self._database = database
        codec: Codec[_Key, Version] = Codec(
            decode=msgspec.msgpack.Decoder(Version).decode, text=lambda key: f"{key[0]}:{key[1]}"
        )
        self._cache: Cache[_Key, Version] = caches.make(
            CACHE, self._load_many, codec, believed_seconds=None
        )

    async def read(self, name: str, version: int | None) -> Version:
        """None: the newest, which PostgreSQL is asked for. Raises NotFound."""
        if version is None:
            return await read_version(self._database, name)
        found = await self._cache.get((name, version))
        if found is None:
            raise NotFound("workflow", f"{name} version {version}")
        return found

    async def _load_many(self, keys: Sequence[_Key]) -> dict[_Key, Version]:
        names, versions = [name for name, _ in keys], [version for _, version in keys]
        rows = await self._database.read("workflow_version_get_many", names, versions)
        return {(row["workflow"], row["version"]): Version(**dict(row)) for row in rows}
