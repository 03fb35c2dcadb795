"""Executions by hand: a workflow is published, started, and run step by step as a test says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec

from tests.engine.hands import end, register, sql, take
from windlass.engine.effects import Effects
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.start import Start, start_many
from windlass.engine.executions.upkeep import run_upkeep
from windlass.engine.executions.workflows import publish
from windlass.engine.jobs.finish import Settled
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Failed, Outcome, Succeeded
from windlass.model.workflow.read import trust_definition
from windlass.store.database import Database

STEPS = """
SELECT step, item, state, NULL AS result, error::text AS error, input::text AS input, id
FROM windlass.job WHERE execution_id = $1
UNION ALL
SELECT step, item, state, result::text, error::text, input::text, id
FROM windlass.job_history WHERE execution_id = $1
"""

FAILS = Failed("boom", "it broke", is_final=True)


def noop(step: str, *needs: Any, **fields: Any) -> dict[str, Any]:
    return {"id": step, "kind": "noop", "needs": list(needs), **fields}


@dataclass(slots=True)
class Flow:
    """One execution, driven by a node that exists only as a row."""

    database: Database
    execution_id: UUID
    node_id: UUID
    # How attempts of a step end; a step that is not named succeeds with its own id.
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)  # the steps that were performed, in order

    @classmethod
    async def start(
        cls,
        database: Database,
        steps: Sequence[Mapping[str, Any]],
        given: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Flow:
        read = trust_definition({"name": "flow", "steps": list(steps), **fields})
        await publish(database, read, by=None)
        started = await start_many(database, [Start(workflow="flow", input=given or {})])
        flow = cls(database, started.execution_ids[0], await register(database))
        await flow.look_after(started.effects)
        return flow

    async def run(self, **outcomes: Outcome) -> dict[str, str]:
        """Perform what is due until nothing is; returns the states of the steps."""
        self.outcomes |= outcomes
        while await self.turn():
            pass
        return await self.states()

    async def turn(self) -> int:
        """Perform what is due now; returns how many."""
        attempts = await take(self.database, self.node_id)
        for attempt in attempts:
            await self.end(attempt)
        return len(attempts)

    async def end(self, attempt: Attempt) -> Settled:
        step = await self.step_of(attempt.job_id)
        self.ran.append(step)
        usual = Succeeded(msgspec.json.encode(step))
        settled = await end(self.database, self.node_id, attempt, self.outcomes.get(step, usual))
        await self.look_after(settled.effects)
        return settled

    async def look_after(self, effects: Effects) -> None:
        while effects.upkeep:
            effects = await run_upkeep(self.database, effects.upkeep)

    async def step_of(self, job_id: UUID) -> str:
        [row] = await sql(self.database, "SELECT step FROM windlass.job WHERE id = $1", job_id)
        step: str = row["step"]
        return step

    async def rows(self) -> list[Any]:
        return await sql(self.database, STEPS, self.execution_id)

    async def states(self) -> dict[str, str]:
        """Step -> state; an item of a fan-out is `step[3]`."""
        return {_label(row): row["state"] for row in await self.rows()}

    async def result(self, step: str) -> Any:
        [row] = [row for row in await self.rows() if _label(row) == step]
        return None if row["result"] is None else msgspec.json.decode(row["result"])

    async def given(self, step: str) -> Any:
        """The input of a step's job."""
        [row] = [row for row in await self.rows() if _label(row) == step]
        return msgspec.json.decode(row["input"])

    async def error(self, step: str) -> Any:
        [row] = [row for row in await self.rows() if _label(row) == step]
        return None if row["error"] is None else msgspec.json.decode(row["error"])

    async def conclude(self) -> Any:
        """Its row, after its end was written; compensations run on the way."""
        while True:
            effects = await conclude(self.database, [self.execution_id])
            await self.look_after(effects)
            if self.execution_id in effects.ended or not await self.turn():
                break
            await self.run()
        [row] = await sql(
            self.database,
            "SELECT state, output::text AS output, error::text AS error, finished_at "
            "FROM windlass.execution WHERE id = $1",
            self.execution_id,
        )
        return row


def _label(row: Any) -> str:
    step: str = row["step"]
    return step if row["item"] is None else f"{step}[{row['item']}]"
