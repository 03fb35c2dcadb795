"""Progress of workflows: go on with executions whose steps have ended.

    ended steps -> boards (what follows, decided purely) -> rows of the next steps, one statement

Runs in the transaction that ended the steps, so that an execution is never between two steps.
A chain looks nothing up and holds nothing: a step with one need is decided by that one's end. Only
a join holds its execution's row, and reads how far its other needs are with a newer snapshot, so
that two ends at once cannot both think the other is still open (G5).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from uuid import UUID

from windlass.engine.effects import Effects
from windlass.engine.executions.board import Board, Step
from windlass.engine.executions.decide_apart import HeavyStarts, TooMuchAtOnce
from windlass.engine.executions.early_start import StepStarts
from windlass.engine.executions.facts import facts_in
from windlass.engine.executions.step_rows import StepRows, job_columns
from windlass.limits import EXPRESSION_BATCH_WORK_MAX, EXPRESSION_QUICK_WORK_MAX
from windlass.model.workflow.plan import UNDO, End
from windlass.model.workflow.step_kinds import KINDS
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


async def progress(
    connection: Connection[Record],
    ended: Sequence[Record],
    effects: Effects,
    starts: StepStarts | None = None,
    *,
    is_divisible: bool = False,
) -> None:
    """`ended` are rows with execution_id, step, item, state, result and error; for `is_divisible`
    see `decide_boards`.
    """
    steps = [row for row in ended if row["item"] is None and not row["step"].endswith(UNDO)]
    items = [row for row in ended if row["item"] is not None]
    if items:
        await _count_items(connection, items, effects)
    effects.urgent_marks |= {row["execution_id"] for row in ended if row["item"] is None}
    if steps:
        facts = await facts_in(connection, {row["execution_id"] for row in steps})
        boards: dict[UUID, Board] = {}
        for row in steps:
            known = facts.get(row["execution_id"])
            if known is None or not known.plan.is_needed(row["step"]):
                continue
            board = boards.get(known.execution_id)
            if board is None:
                board = boards[known.execution_id] = Board(known)
            end = End(state=row["state"], result=row["result"], error=row["error"])
            board.ended(row["step"], end)
        await decide_boards(connection, boards, effects, starts, is_divisible=is_divisible)


async def decide_boards(
    connection: Connection[Record],
    boards: dict[UUID, Board],
    effects: Effects,
    starts: StepStarts | None = None,
    *,
    is_divisible: bool = False,
    is_light: bool = False,
) -> None:
    """Decide on the boards until nothing is left to decide, and write what was.

    `is_divisible`: the caller can come with fewer executions at a time, so that those whose
    expressions are heavy do not keep the others waiting; then it raises TooMuchAtOnce. `is_light`:
    it wants none at all among them whose expressions are; then it raises HeavyStarts.
    """
    decided: list[Step] = []
    budget = _Budget(len(boards) if is_divisible else 1)
    open_boards = list(boards.values())
    while open_boards:
        for board in open_boards:
            decided += await budget.decide(board)
        weighty = [board for board in open_boards if board.heavy]
        if weighty and is_light:
            raise HeavyStarts({board.facts.execution_id for board in weighty})
        for board in weighty:
            decided += await budget.decide_heavy(board)
        open_boards = [
            board for board in open_boards if board.wanted or board.wants_hold or board in weighty
        ]
        await _hold(connection, [board for board in open_boards if board.wants_hold])
        await _look_up(connection, [board for board in open_boards if board.wanted])
    await _write(connection, decided, effects, starts)


class _Budget:
    """How much work one transaction has decided, and how much of it without a pause."""

    def __init__(self, count: int) -> None:
        self._count, self._left = count, EXPRESSION_BATCH_WORK_MAX
        self._held = 0

    async def decide(self, board: Board) -> list[Step]:
        before = board.quick_left
        decided = board.decide()
        if (work := before - board.quick_left) > 0:
            self._spend(work)
            self._held += work
            if self._held >= EXPRESSION_QUICK_WORK_MAX:
                self._held = 0
                await asyncio.sleep(0)  # everybody else on the loop
        return decided

    async def decide_heavy(self, board: Board) -> list[Step]:
        self._spend(0)
        decided, work = await board.decide_heavy()
        self._left -= work
        return decided

    def _spend(self, work: int) -> None:
        if self._left < 0 and self._count > 1:
            raise TooMuchAtOnce(self._count)
        self._left -= work


async def _hold(connection: Connection[Record], boards: Collection[Board]) -> None:
    if not boards:
        return
    ids = [board.facts.execution_id for board in boards]
    await connection.fetch(statement("execution_lock_many"), ids)
    for board in boards:
        board.is_held, board.wants_hold = True, False


async def _look_up(connection: Connection[Record], boards: Collection[Board]) -> None:
    wanted = [(board, step, full) for board in boards for step, full in board.wanted.items()]
    if not wanted:
        return
    rows = await connection.fetch(
        statement("step_end_get_many"),
        [board.facts.execution_id for board, _, _ in wanted],
        [step for _, step, _ in wanted],
        [full for _, _, full in wanted],
        [board.facts.created_at for board, _, _ in wanted],
    )
    found: dict[UUID, dict[str, End]] = {board.facts.execution_id: {} for board in boards}
    for row in rows:
        end = End(state=row["state"], result=row["result"], error=row["error"])
        found[row["execution_id"]][row["step"]] = end
    for board in boards:
        board.learned(found[board.facts.execution_id])


async def _write(
    connection: Connection[Record],
    decided: Sequence[Step],
    effects: Effects,
    starts: StepStarts | None,
) -> None:
    rows = StepRows.of(decided)
    if rows.ended:
        written = await connection.fetch(statement("step_end_many"), *rows.end_columns())
        effects.ended |= {row["id"]: row["state"] for row in written}
    if not rows.jobs:
        return
    reservation = starts.reserve(rows.jobs) if starts is not None else None
    inserted = await connection.fetch(
        statement("step_insert_many"), *job_columns(rows.jobs, reservation=reservation)
    )
    if starts is not None and reservation is not None:
        starts.inserted(rows.jobs, inserted)
    if rows.fans:
        await connection.fetch(statement("fan_insert_many"), *rows.fan_columns())
    going = {row["execution_id"] for row in inserted}
    effects.lazy_marks |= going
    effects.urgent_marks -= going
    for row in inserted:
        match KINDS[row["kind"]].awaits:
            case "items":
                effects.upkeep.fan_outs.add((row["execution_id"], row["step"]))
            case "child":
                effects.upkeep.children.add(row["id"])
            case "answer":
                effects.upkeep.waiting_steps.add(row["id"])
            case None if row["parked_for"] is None and row["started_at"] is None:
                effects.due.append(row)
            case None if row["parked_for"] == "lock":
                effects.parked_for_lock.append(row["id"])


async def _count_items(
    connection: Connection[Record], items: Sequence[Record], effects: Effects
) -> None:
    counted: dict[tuple[UUID, str], list[int]] = {}
    for row in items:
        tally = counted.setdefault((row["execution_id"], row["step"]), [0, 0])
        tally[row["state"] != "succeeded"] += 1
    await connection.fetch(
        statement("fan_delta_insert_many"),
        [execution_id for execution_id, _ in counted],
        [step for _, step in counted],
        [succeeded for succeeded, _ in counted.values()],
        [failed for _, failed in counted.values()],
    )
    effects.upkeep.fan_outs |= counted.keys()
    effects.lazy_marks |= {execution_id for execution_id, _ in counted}
