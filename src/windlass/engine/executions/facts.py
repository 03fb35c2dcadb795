"""Facts of executions, which never change (definition, compiled plan, input): cached, and read
before the transaction that goes on with them.

    memory -> Redis, half an hour after the last look -> PostgreSQL

`ExecutionFacts.prepare` looks in all three, before a transaction; within one `facts_in` is asked,
which never waits for Redis: what memory does not have it reads from PostgreSQL itself.

Promises: nothing here can be out of date, whichever database it came from. Memory keeps it by what
cannot be mistaken: an execution by its id, a plan by its definition's hash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from windlass import ids
from windlass.engine.cache.cache import Cache, Codec
from windlass.engine.cache.registry import Caches
from windlass.engine.executions.definitions import Definitions
from windlass.errors import NotFound
from windlass.limits import (
    DEFINITION_HERE_BYTES_MAX,
    FACTS_BYTES_MAX,
    FACTS_KEPT_MAX,
    PLANS_KEPT_MAX,
)
from windlass.lru import Lru
from windlass.model.workflow.plan import Plan, plan_of
from windlass.model.workflow.read import trust_definition
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

CACHE: Final = "execution"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    execution_id: UUID
    workflow: str
    version: int
    created_at: datetime
    depth: int
    priority: int
    input: Any
    plan: Plan

    def scope(self) -> dict[str, Any]:
        """What expressions see, steps apart."""
        return {
            "inputs": self.input,
            "vars": self.plan.vars,
            "execution": {
                "id": ids.show("execution", self.execution_id),
                "workflow": self.workflow,
                "version": self.version,
                "created_at": self.created_at.isoformat(),
            },
        }


async def facts_in(
    connection: Connection[Record], execution_ids: Collection[UUID]
) -> dict[UUID, Facts]:
    """Facts of executions; of one that is gone there are none."""
    facts = known(execution_ids)
    missing = [execution_id for execution_id in execution_ids if execution_id not in facts]
    if not missing:
        return facts
    rows = await connection.fetch(statement("execution_facts_many"), missing)
    plans = {row["hash"]: plan for row in rows if (plan := _plans.get(row["hash"])) is not None}
    wanted = {(row["workflow"], row["version"]) for row in rows if row["hash"] not in plans}
    if wanted:
        names, versions = zip(*sorted(wanted), strict=True)
        found = await connection.fetch(statement("definition_get_many"), names, versions)
        for row in found:
            plans[row["hash"]] = await learn(row["hash"], row["definition"])
    return facts | {row["id"]: remember(row, plans[row["hash"]]) for row in rows}


def known(execution_ids: Iterable[UUID]) -> dict[UUID, Facts]:
    """Those that this process knows."""
    found = ((execution_id, _facts.get(execution_id)) for execution_id in execution_ids)
    return {execution_id: facts for execution_id, facts in found if facts is not None}


def remember(row: Record | Mapping[str, Any], plan: Plan) -> Facts:
    """`row` is of execution_facts_many."""
    text = row["input"]
    facts = Facts(
        execution_id=row["id"],
        workflow=row["workflow"],
        version=row["version"],
        created_at=row["created_at"],
        depth=row["depth"],
        priority=row["priority"],
        input=msgspec.json.decode(text),
        plan=plan,
    )
    keep(facts, text)
    return facts


def keep(facts: Facts, text: str) -> None:
    """`text` is its input as JSON."""
    _facts.put(facts.execution_id, facts, 500 + _decoded_bytes(text))


# A value in a list or an object, beside its text: its head, its reference, its share of a table.
_VALUE_BYTES: Final = 64


def _decoded_bytes(text: str) -> int:
    """About how much memory the value of a JSON text takes, rather more than less: 20,000 short
    numbers are 100 kB of text and seven times as much in objects.
    """
    return len(text) + _VALUE_BYTES * (1 + sum(map(text.count, ",:[{")))


def plan_known(digest: bytes) -> Plan | None:
    return _plans.get(digest)


async def learn(digest: bytes, definition: str) -> Plan:
    """The plan of a definition (JSON) that was checked when it was published. A large one may have
    ten thousand steps and more expressions, which are compiled where the loop does not wait.
    """
    plan = _plans.get(digest)
    if plan is None:
        if len(definition) <= DEFINITION_HERE_BYTES_MAX:
            plan = _plan_in(definition)
        else:
            loop = asyncio.get_running_loop()
            plan = await loop.run_in_executor(_THREAD, _plan_in, definition)
        _plans.put(digest, plan, 20 * len(definition))
    return plan


def _plan_in(definition: str) -> Plan:
    return plan_of(trust_definition(msgspec.json.decode(definition)))


class FactsRow(msgspec.Struct, frozen=True, kw_only=True):
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
        codec: Codec[UUID, FactsRow] = Codec(
            decode=msgspec.msgpack.Decoder(FactsRow).decode, text=lambda key: key.hex
        )
        self._cache: Cache[UUID, FactsRow] = caches.make(
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

    async def _remember(self, kept: FactsRow) -> Facts | None:
        plan = plan_known(kept.hash)
        if plan is None:
            try:
                version = await self._definitions.read(kept.workflow, kept.version)
            except NotFound:
                return None
            assert version.definition is not None
            plan = await learn(kept.hash, version.definition)
        return remember(msgspec.structs.asdict(kept), plan)

    async def _load_many(self, keys: Sequence[UUID]) -> dict[UUID, FactsRow]:
        rows = await self._database.run("execution_facts_many", list(keys))
        return {row["id"]: FactsRow(**dict(row)) for row in rows}


_THREAD: Final = ThreadPoolExecutor(1, "plans")  # two would wait for each other's lock
_facts: Final[Lru[UUID, Facts]] = Lru(
    entries_max=FACTS_KEPT_MAX,
    weight_max=FACTS_BYTES_MAX,
    entry_weight_max=FACTS_BYTES_MAX // 2,
)
_plans: Final[Lru[bytes, Plan]] = Lru(
    entries_max=PLANS_KEPT_MAX,
    weight_max=FACTS_BYTES_MAX,
    entry_weight_max=FACTS_BYTES_MAX // 2,
)
