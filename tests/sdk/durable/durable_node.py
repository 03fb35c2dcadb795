"""A node in this process with an App of a test's own, and what it has on record."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from windlass import App, ids
from windlass.compose.start import start
from windlass.config import Settings
from windlass.sdk.tasks.execution_handle import ExecutionHandle
from windlass.store.database import Database, Record
from windlass.strategies.python.task import Task, tasks_of


@dataclass(frozen=True, slots=True, kw_only=True)
class DurableNode:
    app: App
    database: Database
    tasks: dict[str, Task]  # what the node performs now

    async def deploy(self) -> None:
        """Let the node know what its App has now."""
        self.tasks.update(tasks_of(self.app))
        for durable in self.app.durables.values():
            await self.app.client.workflows.put(durable.definition())

    async def rows(self, query: str, *args: Any) -> list[Record]:
        async with self.database.side() as connection:
            return await connection.fetch(query, *args)

    async def job_of(self, handle: ExecutionHandle[Any]) -> Record:
        """The job that plays the function, ended or not."""
        columns = "id, state, attempt, snoozes, run_at"
        rows = await self.rows(
            f"SELECT {columns} FROM windlass.job WHERE execution_id = $1 UNION ALL "
            f"SELECT {columns} FROM windlass.job_history WHERE execution_id = $1",
            ids.parse("execution", handle.id),
        )
        return rows[0]

    async def is_resting(self, handle: ExecutionHandle[Any]) -> bool:
        job = await self.job_of(handle)
        return bool(job["state"] == "queued" and job["snoozes"] > 0)

    async def checkpoints(self, handle: ExecutionHandle[Any]) -> list[tuple[str, int, str]]:
        job_id: UUID = (await self.job_of(handle))["id"]
        rows = await self.rows(
            "SELECT branch, place, name FROM windlass.checkpoint WHERE job_id = $1"
            " ORDER BY branch, place",
            job_id,
        )
        return [(row["branch"], row["place"], row["name"]) for row in rows]

    async def let_time_pass(self, handle: ExecutionHandle[Any], seconds: float) -> None:
        """For one execution: what it waits for lies so much nearer, as if it had waited so long."""
        job_id: UUID = (await self.job_of(handle))["id"]
        async with self.database.side(readonly=False) as connection:
            await connection.execute(
                "UPDATE windlass.checkpoint SET until = until - $2 * interval '1 second'"
                " WHERE job_id = $1",
                job_id,
                seconds,
            )
            await connection.fetch(
                "UPDATE windlass.job SET run_at = run_at - $2 * interval '1 second' WHERE id = $1",
                job_id,
                seconds,
            )


@contextlib.asynccontextmanager
async def durable_node(app: App, database_url: str, redis_url: str) -> AsyncIterator[DurableNode]:
    tasks = tasks_of(app)
    windlass = await start(
        Settings(workers=4, drain_timeout_seconds=5.0),
        database_url=database_url,
        redis_url=redis_url,
        serving=None,
        app=app,
        tasks=tasks,
    )
    try:
        node = DurableNode(app=app, database=windlass.database, tasks=tasks)
        await node.deploy()
        yield node
    finally:
        await windlass.drain()
