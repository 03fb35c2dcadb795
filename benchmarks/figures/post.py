"""Post: `POST /v1/jobs` from many connections, against a route of the same server that echoes."""

from __future__ import annotations

from benchmarks.bare import echo
from benchmarks.limits import LOAD_CONNECTIONS
from benchmarks.measure import Figure, Run, Sample, compare
from benchmarks.node import RunningNode, running
from benchmarks.stage import Stage
from benchmarks.traffic import load

RATIO_MIN = 0.28  # of a route of Starlette, which answers half as many again as one of Litestar
PATH = "/v1/jobs"
NAME, BARE = f"POST {PATH}, {LOAD_CONNECTIONS} connections", "echo route"


async def figures(stage: Stage) -> list[Figure]:
    requests = stage.scale.requests
    series = await stage.interleave(
        [
            Run(name=NAME, once=lambda: measure(stage, requests)),
            Run(name=BARE, once=lambda: echo.measure(requests=requests)),
        ]
    )
    return [compare(series[NAME], series[BARE], at_least=RATIO_MIN)]


async def measure(stage: Stage, requests: int) -> Sample:
    """Requests per second that a node with the API alone answers, each after its commit."""
    async with (
        stage.database() as dsn,
        running(dsn, stage.redis_url, roles="api") as node,
    ):
        return (await load.generate(order(node, requests))).sample()


def order(node: RunningNode, requests: int) -> load.Load:
    return load.Load(
        address=node.address,
        path=PATH,
        body="benchmarks.bare.echo:body",
        headers=node.headers,
        count=requests,
    )
