"""Child executions (sub-workflows): begun for the step that asks for them, and waited for by it.

Promises: a step has one child, whoever begins it and however often: the step's id is unique among
executions. The child's end ends the step (see `conclude`). No child begins below an execution that
is given up, nor more of them than a tree may have (see `tree`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

import msgspec

from windlass.engine.effects import Effects
from windlass.engine.executions.facts import Facts, facts_in
from windlass.engine.executions.start import Start, start_many
from windlass.engine.executions.tree import AncestorEnded
from windlass.engine.jobs.end import bury, invalid_input
from windlass.errors import Conflict, InvalidInput, NotFound
from windlass.limits import CHILD_DEPTH_MAX, EXECUTION_TREE_MAX
from windlass.model.job.outcome import Cancelled, Failed
from windlass.model.json.whole import whole
from windlass.model.workflow.step_kinds import input_problems
from windlass.store.database import Database, Record


async def begin_children(
    database: Database, job_ids: Collection[UUID], tree_max: int = EXECUTION_TREE_MAX
) -> Effects:
    """Begin the executions that these steps wait for; one that has its child is left alone. One
    that cannot begin fails only its own step.
    """
    rows = await database.run("step_asked_get_many", list(job_ids))
    async with database.hot() as connection:
        facts = await facts_in(connection, {row["execution_id"] for row in rows})
    effects = Effects()
    for row in rows:
        effects.add(await _begin(database, row, facts[row["execution_id"]], tree_max))
    return effects


async def _begin(database: Database, row: Record, parent: Facts, tree_max: int) -> Effects:
    given: dict[str, Any] = msgspec.json.decode(row["input"])
    if problems := input_problems(row["kind"], given, is_filled=True):
        return await bury(database, row["id"], invalid_input(problems))
    if parent.depth >= CHILD_DEPTH_MAX:
        said = f"{given['workflow']!r} would be the child of {CHILD_DEPTH_MAX} parents"
        return await bury(database, row["id"], Failed("too_deep", said, is_final=True))
    start = Start(
        workflow=given["workflow"],
        version=whole(given.get("version")),
        input=given.get("input") or {},
        priority=row["priority"],
        parent_job_id=row["id"],
        parent_id=row["execution_id"],
        depth=parent.depth + 1,
        tree_max=tree_max,
        correlation_id=row["correlation_id"],
        trace_id=row["trace_id"],
        owner=row["owner"],
    )
    try:
        started = await start_many(database, [start], is_patient=False)
    except AncestorEnded:
        # Nobody's mistake: the cancel of one above has come by before it came here step by step.
        return await bury(database, row["id"], Cancelled())
    except (NotFound, InvalidInput, Conflict) as refusal:
        return await bury(database, row["id"], Failed(refusal.code, str(refusal), is_final=True))
    return started.effects
