"""Chains that keep a node busy for long do not keep it from what waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.engine.hands import submit
from tests.until import until
from windlass.compose import start as compose
from windlass.config import Settings
from windlass.engine.executions.start import Start, start_many
from windlass.engine.executions.workflows import publish
from windlass.model.job.draft import Draft
from windlass.model.workflow.read import trust_definition
from windlass.sdk.tasks.app import App
from windlass.store.database import Database

CHAINS, STEPS, SLOTS, STEP_SECONDS = 200, 1_000, 16, 0.02
# What the slots end within five seconds. Steps are counted, and not seconds: a machine that pauses
# runs none of them.
SOON_STEPS = 5 * SLOTS / STEP_SECONDS
CRITICAL, NORMAL = 3, 1


class Chains:
    """A node full of them, and what has run on it."""

    def __init__(self) -> None:
        self.steps = 0
        self.ran: dict[str, int] = {}  # by name: how many steps had run before
        self.app = App("chains")

        @self.app.task(name="step")
        async def step() -> None:
            self.steps += 1
            await asyncio.sleep(STEP_SECONDS)

        @self.app.task(name="note")
        async def note(name: str) -> None:
            self.ran[name] = self.steps

    def definition(self) -> dict[str, object]:
        steps = [
            {"id": f"s{n}", "kind": "python", "input": {"task": "step"}, "needs": [f"s{n - 1}"]}
            for n in range(1, STEPS)
        ]
        first = {"id": "s0", "kind": "python", "input": {"task": "step"}}
        return {"name": "chain", "steps": [first, *steps]}

    async def begun_after(self, database: Database, name: str, priority: int) -> int:
        """How many steps run before a job that nobody is told of begins."""
        before = self.steps
        given = f'{{"task":"note","args":["{name}"]}}'
        await submit(database, Draft(kind="python", input=given, priority=priority))

        async def has_begun() -> bool:
            return name in self.ran

        await until(has_begun, what=f"{name} has begun")
        return self.ran[name] - before


@pytest.fixture
async def chains(database: Database, database_url: str) -> AsyncIterator[Chains]:
    made = Chains()
    await publish(database, trust_definition(made.definition()), by=None)
    await start_many(database, [Start(workflow="chain") for _ in range(CHAINS)])
    node = await compose.start(
        Settings(roles=("worker",), workers=SLOTS),
        database_url=database_url,
        redis_url=None,
        serving=None,
        app=made.app,
    )

    async def is_under_way() -> bool:
        return made.steps > SLOTS / STEP_SECONDS

    try:
        await until(is_under_way, what="chains are under way")
        yield made
    finally:
        await node.stop_now()


@pytest.mark.parametrize("priority", [CRITICAL, NORMAL])
async def test_what_waits_begins_soon_beside_chains_without_an_end(
    database: Database, chains: Chains, priority: int
) -> None:
    waited = [await chains.begun_after(database, f"job {n}", priority) for n in range(3)]
    assert max(waited) < SOON_STEPS, waited
