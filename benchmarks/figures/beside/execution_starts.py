"""Starts of executions over HTTP, beside single jobs submitted to the same node by the same client.

A workflow of one step that does nothing, and plain jobs that do nothing; so many requests under way
(`STARTS_IN_FLIGHT`), each answered after its commit. In turns against one node, first one with the
API alone, which only accepts, and then one with all its roles, which performs what it accepts at
the same time; the next turn begins when it has performed all.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec

from benchmarks import inside
from benchmarks.limits import STARTS_IN_FLIGHT
from benchmarks.measure import Figure, Run, Sample, compare
from benchmarks.node import ALL_ROLES, RunningNode, running
from benchmarks.rows import PAYLOAD
from benchmarks.stage import Stage
from benchmarks.traffic import load
from benchmarks.until import until
from windlass.engine.executions.workflows import publish
from windlass.model.workflow.read import trust_definition

RATIO_MIN = 0.5
WORKFLOW: Final = {"name": "single", "steps": [{"id": "only", "kind": "noop"}]}
# The path of each, and the bodies of its requests.
STARTS = ("/v1/workflows/single/executions", "benchmarks.figures.beside.execution_starts:start")
JOBS = ("/v1/jobs", "benchmarks.bare.echo:body")
NODES = {"the API alone": "api", "a node with all roles": ALL_ROLES}


async def figures(stage: Stage) -> list[Figure]:
    return [await compared(stage, name, roles) for name, roles in NODES.items()]


async def compared(stage: Stage, name: str, roles: str) -> Figure:
    ours, bare = f"starts of executions, {name}", "single jobs"
    async with (
        stage.database() as dsn,
        running(dsn, stage.servers.redis_of(dsn), roles=roles) as node,
    ):
        async with inside.opened(dsn) as database:
            await publish(database, trust_definition(dict(WORKFLOW)), by=None)
        post = partial(measure, stage, node, dsn if roles == ALL_ROLES else None)
        series = await stage.interleave(
            [
                Run(name=ours, once=partial(post, *STARTS)),
                Run(name=bare, once=partial(post, *JOBS)),
            ]
        )
    return compare(series[ours], series[bare], at_least=RATIO_MIN)


async def measure(stage: Stage, node: RunningNode, dsn: str | None, path: str, body: str) -> Sample:
    """Requests per second. `dsn`: of a node that performs them, which is waited for afterwards."""
    report = await load.generate(
        load.Load(
            address=node.address,
            path=path,
            body=body,
            headers=node.headers,
            count=stage.scale.execution_starts,
            connections=STARTS_IN_FLIGHT,
        )
    )
    if dsn is not None:
        await _all_performed(dsn)
    return report.sample()


async def _all_performed(dsn: str) -> None:
    async with inside.connected(dsn) as eye:

        async def is_quiet() -> bool:
            return not await eye.fetchval(
                "SELECT EXISTS (SELECT FROM windlass.job) OR EXISTS "
                "(SELECT FROM windlass.execution WHERE finished_at IS NULL)"
            )

        await until(is_quiet)


def start(_number: int) -> bytes:
    """The body of a start: the input that single jobs carry, too."""
    return msgspec.json.encode({"input": PAYLOAD})
