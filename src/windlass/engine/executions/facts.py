"""What never changes about executions, read before the transaction that goes on with them.

In memory, then in Redis for half an hour after the last look, then in PostgreSQL. A transaction
never waits for Redis: what is not known when it begins it reads from PostgreSQL itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from windlass.engine.cache.cache import Cache, Codec
from windlass.engine.cache.registry import Caches
from windlass.engine.executions.definitions import Definitions
from windlass.engine.executions.plans import Facts, known, learn, plan_known, remember
from windlass.errors import NotFound
from windlass.store.database import Database

CACHE: Final = "execution"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A row of execution_facts_many."""

    id: UUID
    workflow: str
    version: int
    hash: bytes
    created_at: datetime
    depth: int
    priority: int
    input: str  # JSON


class ExecutionFacts:
    def __init__(self, database: Database, caches: Caches, definitions: Definitions) -> None:
        self._database = database
        self._definitions = definitions
        codec: Codec[UUID, Kept] = Codec(
            decode=msgspec.msgpack.Decoder(Kept).decode, text=lambda key: key.hex
        )
        self._cache: Cache[UUID, Kept] = caches.make(
            CACHE, self._load_many, codec, believed_seconds=None
        )

    async def prepare(self, execution_ids: Iterable[UUID]) -> None:
        """Know these, as far as they exist."""
        asked = set(execution_ids)
        missing = asked - known(asked).keys()
        self._cache.hit(len(asked) - len(missing))
        if not missing:
            return
        found = (await self._cache.get_many(missing)).values()
        for kept in found:
            await self._remember(kept)

    async def _remember(self, kept: Kept) -> Facts | None:
        plan = plan_known(kept.hash)
        if plan is None:
            try:
                version = await self._definitions.read(kept.workflow, kept.version)
            except NotFound:
                return None
            assert version.definition is not None
            plan = await learn(kept.hash, version.definition)
        return remember(msgspec.structs.asdict(kept), plan)

    async def _load_many(self, keys: Sequence[UUID]) -> dict[UUID, Kept]:
        rows = await self._database.run("execution_facts_many", list(keys))
        return {row["id"]: Kept(**dict(row)) for row in rows}
