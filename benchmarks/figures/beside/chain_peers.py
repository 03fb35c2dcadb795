"""Chains of ten steps to their end, one node beside BullMQ's flows.

A step of ours is an async task that does nothing, as BullMQ's processor is; beside that, steps of
the kind noop, which call nobody's function. What is kept differs: ours is PostgreSQL, each end
durably committed before the next step begins; BullMQ's lies in Valkey, in memory alone
(`appendonly no`).

Twice. First as a user has it: from the first request for a chain to the end of the last one, chains
being asked for while others run, ours over HTTP (`STARTS_IN_FLIGHT` requests under way), BullMQ's
from a thread of their own, a hundred flows to a call. Then from the moment at which all are there
and none has begun: executions of a paused queue, and flows that no worker works on. That leaves out
what is BullMQ's larger half: it adds all ten jobs of a flow at once, where ours inserts each step
by the commit that ends the one before.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks import flows, inside
from benchmarks.figures.chain import STEPS, chain
from benchmarks.limits import STARTS_IN_FLIGHT
from benchmarks.measure import Figure, Run, Sample, absolute, compare
from benchmarks.node import running
from benchmarks.peers import bullmq, valkey
from benchmarks.stage import Stage
from benchmarks.traffic import load
from benchmarks.until import until
from windlass.engine.executions.workflows import publish
from windlass.model.workflow.read import trust_definition

APP = "benchmarks.tasks:plain"
RATIO_MIN = 2.5
ASKED = "from the request to the end"
TASKS, NOOPS = f"chains of {STEPS} async tasks", f"chains of {STEPS} noop steps"
BULLMQ = f"flows of {bullmq.NAME} ({valkey.KEPT})"
# What is compared with what.
PAIRS = {
    f"{TASKS}, {ASKED}": f"{BULLMQ}, {ASKED}",
    f"{NOOPS}, {ASKED}": f"{BULLMQ}, {ASKED}",
    TASKS: BULLMQ,
    NOOPS: BULLMQ,
}
LASTED = """
SELECT extract(epoch FROM max(finished_at) - min(created_at))::float8 FROM windlass.execution
"""


def tasks() -> dict[str, Any]:
    """The same chain, of tasks."""
    work = {"kind": "python", "input": {"task": "nothing_async"}}
    return {"name": "chain", "steps": [{**step, **work} for step in chain()["steps"]]}


async def figures(stage: Stage) -> list[Figure]:
    asked = partial(measure_asked, stage)
    series = await stage.interleave(
        [
            Run(name=f"{TASKS}, {ASKED}", once=partial(asked, tasks())),
            Run(name=f"{BULLMQ}, {ASKED}", once=partial(measure_peer, stage, together=True)),
            Run(name=f"{NOOPS}, {ASKED}", once=partial(asked, chain())),
            Run(name=TASKS, once=partial(measure, stage, tasks())),
            Run(name=BULLMQ, once=partial(measure_peer, stage)),
            Run(name=NOOPS, once=partial(measure, stage, chain())),
        ]
    )
    return [
        compare(series[ours], series[peer], at_least=RATIO_MIN)
        if peer in series
        else absolute(series[ours])
        for ours, peer in PAIRS.items()
    ]


async def measure_asked(stage: Stage, definition: dict[str, Any]) -> Sample:
    count = stage.scale.peer_chains
    async with (
        stage.database() as dsn,
        inside.connected(dsn) as eye,
        running(dsn, stage.servers.redis_of(dsn), app=APP) as node,
    ):
        async with inside.opened(dsn) as database:
            await publish(database, trust_definition(definition), by=None)
        report = await load.generate(
            load.Load(
                address=node.address,
                path="/v1/workflows/chain/executions",
                body="benchmarks.figures.beside.execution_starts:start",
                headers=node.headers,
                count=count,
                connections=min(STARTS_IN_FLIGHT, count),
                warm_up=0,
            )
        )
        assert not report.refused, report.refusal
        await until(lambda: flows.have_ended(eye))
        seconds: float = await eye.fetchval(LASTED)
        await flows.check(eye)
    return Sample.rate(count, seconds, "chains/s")


async def measure(stage: Stage, definition: dict[str, Any]) -> Sample:
    count = stage.scale.peer_chains
    async with flows.two_nodes(stage, nodes=1, app=APP) as (dsn, eye):
        seconds = await flows.run_all(dsn, stage.redis_url, eye, definition, count)
    return Sample.rate(count, seconds, "chains/s")


async def measure_peer(stage: Stage, *, together: bool = False) -> Sample | None:
    count, keys = stage.scale.peer_chains, stage.servers.redis_of(stage.bare_dsn)
    ran = await bullmq.run_chains(
        keys, chains=count, steps=STEPS, together=together, tell=stage.tell
    )
    return None if ran is None else Sample.rate(count, ran.seconds, "chains/s")
