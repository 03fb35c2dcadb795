"""Executions that are started through the API and performed by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.api.served import Served
from tests.engine.executions.flow import Flow
from tests.engine.hands import register
from windlass import ids
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.refresh import refresh

Execution = dict[str, Any]


async def publish(
    api: Served, steps: Sequence[Mapping[str, Any]], name: str = "flow", **fields: Any
) -> None:
    document = {"name": name, "steps": list(steps), **fields}
    async with api.client.post(api.url + "/v1/workflows", json=document) as answer:
        assert answer.status in (200, 201), await answer.text()


async def start(api: Served, name: str = "flow", **body: Any) -> Execution:
    path = f"/v1/workflows/{name}/executions"
    started: Execution = await api.post(path, body, 201)
    await api.parts.follower.quiet()
    return started


async def by_hand(api: Served, execution: Execution) -> Flow:
    """What performs its steps."""
    execution_id = ids.parse("execution", execution["id"])
    return Flow(api.database, execution_id, await register(api.database))


async def bring_up_to_date(api: Served, execution: Execution) -> Execution:
    """As a node does it after a job has ended: refresh, conclude, and tell who waits."""
    execution_id = ids.parse("execution", execution["id"])
    done = await refresh(api.database, [execution_id])
    api.parts.announcer.ends(done.ended)
    if done.unconcluded:
        api.parts.follower.follow(await conclude(api.database, done.unconcluded))
        await api.parts.follower.quiet()
    found: Execution = await read(api, execution)
    return found


async def read(api: Served, execution: Execution, word: str = "") -> Any:
    return await api.get(f"/v1/executions/{execution['id']}{word and '/' + word}")
