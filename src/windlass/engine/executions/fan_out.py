"""Fan-outs (`map` steps): put their items in, a bounded number at a time; end them when all have
ended.

    tally (no lock) -> stop, expand or close under the row's lock, by a newer tally

An item that ends appends to a sum (see `progress`) and touches nothing else. Whoever appended last
sees the whole sum after its commit and closes the fan-out; two that do are told apart by the lock.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from uuid import UUID

from windlass.engine.effects import Effects
from windlass.engine.executions.facts import facts_in
from windlass.engine.executions.fan_out_items import insert_items
from windlass.engine.isolated_round import IsolatedRound, ItemBackoff
from windlass.engine.jobs.end import advance, bury_unstorable, end_awaited
from windlass.engine.locks.grant import take_locks
from windlass.limits import FAN_CHUNK, FAN_RESULT_BYTES_MAX, FINISH_BATCH_MAX
from windlass.model.job.outcome import Cancelled, Failed, Outcome, Succeeded
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

FanKey = tuple[UUID, str]  # execution, step


async def drive_fan_outs(
    database: Database,
    keys: Collection[FanKey],
    tell: Callable[[Effects], None],
    backoff: ItemBackoff,
    put_off: Callable[[FanKey], None] = lambda _: None,  # hears of those that somebody holds
) -> None:
    """One round. `upkeep.fan_outs` of what is told are those that need another."""
    busy: set[UUID] = set()

    async def find_held(rows: list[Record]) -> set[UUID]:
        # Of all that are looked after in this round, so that each of its deeds knows.
        busy.update(await find_locked_steps(database, [row["job_id"] for row in every]))
        return {row["job_id"] for row in rows} & busy

    def is_held(row: Record) -> None:
        busy.add(row["job_id"])
        put_off((row["execution_id"], row["step"]))

    async def each(
        what: str,
        rows: list[Record],
        deed: Callable[[Database, list[Record]], Awaitable[Effects]],
    ) -> None:
        round_ = IsolatedRound(
            what=what,
            deed=partial(deed, database),
            tell=tell,
            backoff=backoff,
            key=lambda row: row["job_id"],
            bury=lambda row, trouble: bury_unstorable(database, row["job_id"], trouble),
            held=find_held,
            put_off=is_held,
        )
        free = [row for row in rows if row["job_id"] not in busy]
        for row in rows:
            if row["job_id"] in busy:
                is_held(row)
        await round_.each(free)

    rows = every = await database.run("fan_tally_many", *_columns(keys))
    await each("stop fan-outs", [row for row in rows if _must_stop(row)], _stop)
    growing = [row for row in rows if not _must_stop(row) and _room(row) > 0]
    for row in growing:  # each in a transaction of its own: they may be large
        await each("expand fan-outs", [row], _expand)
    await each("close fan-outs", [row for row in rows if _is_over(row)], _close)


async def find_locked_steps(database: Database, job_ids: Collection[UUID]) -> set[UUID]:
    """Those that cannot be looked after just now: somebody holds a row that this needs."""
    rows = await database.settle("step_row_held_many", list(job_ids))
    return {row["id"] for row in rows}


def _columns(keys: Collection[FanKey]) -> tuple[list[UUID], list[str]]:
    ordered = sorted(keys)
    return [execution_id for execution_id, _ in ordered], [step for _, step in ordered]


def _keys(rows: Sequence[Record]) -> set[FanKey]:
    return {(row["execution_id"], row["step"]) for row in rows}


def _ended(row: Record) -> int:
    count: int = row["succeeded"] + row["failed"]
    return count


def _must_stop(row: Record) -> bool:
    is_hopeless = row["failed"] > row["failures_max"] or row["is_stopped"]
    return bool(is_hopeless and _ended(row) < row["total"])


def _room(row: Record) -> int:
    """How many items may be put in now."""
    if row["is_stopped"]:
        return 0
    left: int = row["total"] - row["expanded"]
    if row["parallel"] is not None:
        left = min(left, row["parallel"] - (row["expanded"] - _ended(row)))
    return min(left, FAN_CHUNK)


def _is_over(row: Record) -> bool:
    is_whole = row["is_stopped"] or row["expanded"] == row["total"]
    return bool(is_whole and _ended(row) >= row["expanded"])


async def _expand(database: Database, rows: Sequence[Record]) -> Effects:
    (key,) = _keys(rows)

    async def work(connection: Connection[Record]) -> Effects:
        held = await connection.fetch(statement("fan_lock_many"), [key[0]], [key[1]])
        if not held:
            return Effects()
        if held[0]["is_ending"]:
            await connection.fetch(statement("fan_stop_many"), [key[0]], [key[1]])
            return _again(key)
        (row,) = await connection.fetch(statement("fan_tally_many"), [key[0]], [key[1]])
        count = _room(row)
        if count <= 0:
            return Effects()
        facts = (await facts_in(connection, [key[0]]))[key[0]]
        effects = await insert_items(connection, facts, held[0], row, count)
        await take_locks(connection, effects)
        if count == FAN_CHUNK:
            effects.add(_again(key))
        return effects

    return await database.settle_together(work)


async def _stop(database: Database, rows: Sequence[Record]) -> Effects:
    """More failed than may: what has not begun is cancelled, what runs is let end."""
    columns = _columns(_keys(rows))

    async def work(connection: Connection[Record]) -> Effects:
        await connection.fetch(statement("fan_stop_many"), *columns)
        queued = await connection.fetch(statement("fan_queued_items"), *columns, FINISH_BATCH_MAX)
        count = len(queued)
        dropped = await connection.fetch(
            statement("job_drop_many"),
            [row["id"] for row in queued],
            ["cancelled"] * count,
            [None] * count,
            ["fan_stopped"] * count,
        )
        effects = await advance(connection, dropped)
        # A first stop may have been all that was missing for its end.
        if count or not all(row["is_stopped"] for row in rows):
            effects.upkeep.fan_outs |= _keys(rows)
        return effects

    return await database.settle_together(work)


async def _close(database: Database, rows: Sequence[Record]) -> Effects:
    columns = _columns(_keys(rows))

    async def work(connection: Connection[Record]) -> Effects:
        held = await connection.fetch(statement("fan_lock_many"), *columns)
        tallies = await connection.fetch(statement("fan_tally_many"), *_columns(_keys(held)))
        over = [row for row in tallies if _is_over(row)]
        # Its items were stopped because its execution is: that is no failure of theirs.
        ending = _keys([row for row in held if row["is_ending"]])
        outcomes = {
            row["job_id"]: Cancelled()
            if (row["execution_id"], row["step"]) in ending
            else await _outcome(connection, row)
            for row in over
        }
        effects = await end_awaited(connection, outcomes)
        await connection.fetch(statement("fan_forget_many"), *_columns(_keys(over)))
        return effects

    return await database.settle_together(work)


async def _outcome(connection: Connection[Record], row: Record) -> Outcome:
    tally = {name: row[name] for name in ("total", "succeeded", "failed")}
    if row["failed"] > row["failures_max"] or _ended(row) < row["total"]:
        said = f"{row['failed']} of {row['total']} items failed; {row['failures_max']} may"
        return Failed("places_failed", said, detail=tally, is_final=True)
    facts = (await facts_in(connection, [row["execution_id"]]))[row["execution_id"]]
    if not facts.plan.vertices[row["step"]].is_collected:
        shown = ",".join(f'"{name}":{count}' for name, count in tally.items())
        return Succeeded(f"{{{shown}}}".encode())
    (found,) = await connection.fetch(
        statement("fan_results"),
        row["execution_id"],
        row["step"],
        facts.created_at,
        FAN_RESULT_BYTES_MAX,
    )
    if found["results"] is None:
        said = f"its results are more than {FAN_RESULT_BYTES_MAX} bytes; say collect: false"
        return Failed("result_too_large", said, detail=tally, is_final=True)
    return Succeeded(found["results"].encode())


def _again(key: FanKey) -> Effects:
    effects = Effects()
    effects.upkeep.fan_outs.add(key)
    return effects
