"""Concurrency keys: who of those with the same key may run now, and who waits for its turn.

    take_turns    hold the keys -> count -> each begins, waits, is skipped or refused, by its policy
    begin_next    hold the keys -> the oldest that wait begin, as many as there is room for

Promises: never more executions of a key run than its limit says, whichever nodes ask at once: they
are counted under a lock on (workflow, key) that is held to the commit. Whoever ends begins the next
in the same transaction, so that no turn is ever lost.
Keys are held before rows of executions, by everybody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from windlass import ids
from windlass.engine.effects import Effects
from windlass.engine.executions.board import Board
from windlass.engine.executions.facts import facts_in
from windlass.engine.executions.progress import decide_boards
from windlass.engine.jobs.end import request_execution_cancel
from windlass.errors import Conflict
from windlass.limits import TURNS_MAX
from windlass.model.workflow.definition import Concurrency
from windlass.store.database import Connection, Record
from windlass.store.statements import statement

Key = tuple[str, str]  # workflow, concurrency key
Asked = tuple[str, str | None, Concurrency | None]  # workflow, its key, its concurrency


class ConcurrencyLimit(Conflict):
    """As many as may run with this key do."""

    code = "concurrency_limit"

    def __init__(self, key: Key, limit: int, running: UUID | None) -> None:
        self.workflow, self.key = key
        self.limit = limit
        self.running = None if running is None else ids.show("execution", running)
        named = f", {self.running} among them" if self.running else ""
        super().__init__(
            f"{limit} executions of {self.workflow!r} with the key {self.key!r} may run at once, "
            f"and do{named}; try again when one has ended"
        )

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "workflow": self.workflow,
            "key": self.key,
            "limit": self.limit,
            "execution_id": self.running,
        }


@dataclass(slots=True, kw_only=True)
class Turn:
    """What becomes of one that asks: it begins, waits or is skipped."""

    word: Literal["begin", "wait", "skip"] = "begin"
    behind: UUID | None = None  # one that runs with its key


@dataclass(slots=True, kw_only=True)
class Turns:
    turns: list[Turn] = field(default_factory=list)  # in the order asked
    effects: Effects = field(default_factory=Effects)  # of those who had to make room


async def hold_keys(connection: Connection[Record], keys: Collection[Key]) -> None:
    if keys:
        columns = [workflow for workflow, _ in keys], [key for _, key in keys]
        await connection.fetch(statement("turn_hold_many"), *columns)


async def take_turns(connection: Connection[Record], asked: Sequence[Asked]) -> Turns:
    """Decide for executions that are about to be inserted. Raises ConcurrencyLimit."""
    decided = Turns(turns=[Turn() for _ in asked])
    limited = [
        (place, (workflow, key), concurrency)
        for place, (workflow, key, concurrency) in enumerate(asked)
        if key is not None and concurrency is not None
    ]
    if not limited:
        return decided
    by_key = {key: concurrency for _, key, concurrency in limited}
    await hold_keys(connection, by_key)
    coming = Counter(key for _, key, _ in limited)
    for key, concurrency in by_key.items():
        if concurrency.policy == "cancel_running":
            kept = max(0, concurrency.limit - coming[key])
            decided.effects.add(await _make_room(connection, key, kept))
    counted = await _count(
        connection, {key: concurrency.limit for key, concurrency in by_key.items()}
    )
    room = {
        key: concurrency.limit - counted[key]["unfinished"] for key, concurrency in by_key.items()
    }
    for place, key, concurrency in limited:
        room[key] -= 1
        if room[key] >= 0:
            continue
        running = counted[key]["oldest"]
        if concurrency.policy == "fail":
            raise ConcurrencyLimit(key, concurrency.limit, running)
        decided.turns[place] = Turn(
            word="skip" if concurrency.policy == "skip" else "wait", behind=running
        )
    return decided


async def check_room(connection: Connection[Record], row: Record) -> None:
    """May this one (a row of execution_hold_many) run, whoever waits? Raises ConcurrencyLimit. The
    caller holds its key.
    """
    if row["concurrency_key"] is None:
        return
    key, limit = (row["workflow"], row["concurrency_key"]), row["concurrency_limit"]
    counted = (await _count(connection, {key: limit}))[key]
    if counted["running"] >= limit:
        raise ConcurrencyLimit(key, limit, counted["oldest"])


async def begin_next(connection: Connection[Record], keys: Collection[Key]) -> Effects:
    """Executions with these keys have ended: let those begin whose turn it is."""
    if not keys:
        return Effects()
    await hold_keys(connection, keys)
    columns = [workflow for workflow, _ in keys], [key for _, key in keys]
    rows = await connection.fetch(statement("turn_next_many"), *columns, TURNS_MAX)
    if not rows:
        return Effects()
    facts = await facts_in(connection, [row["id"] for row in rows])
    await connection.fetch(
        statement("execution_begin_many"),
        list(facts),
        [known.plan.definition.timeout_seconds for known in facts.values()],
    )
    boards = {execution_id: Board(known) for execution_id, known in facts.items()}
    for board in boards.values():
        board.begin()
    effects = Effects(urgent_marks=set(boards))
    await decide_boards(connection, boards, effects)
    return effects


async def _count(connection: Connection[Record], limits: Mapping[Key, int]) -> dict[Key, Record]:
    rows = await connection.fetch(
        statement("turn_count_many"),
        [workflow for workflow, _ in limits],
        [key for _, key in limits],
        list(limits.values()),
    )
    return {(row["workflow"], row["key"]): row for row in rows}


async def _make_room(connection: Connection[Record], key: Key, kept: int) -> Effects:
    """Of those with this key the newest so many stay."""
    rows = await connection.fetch(statement("turn_superseded"), *key, kept)
    return await request_execution_cancel(
        connection,
        [row["id"] for row in rows],
        cause="superseded",
        message="a newer execution with its concurrency key replaced it",
    )
