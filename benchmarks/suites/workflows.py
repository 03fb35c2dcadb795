"""The figures of workflows."""

from __future__ import annotations

from benchmarks.figures import chain, fan_out, step_latency
from benchmarks.figures.beside import chain_peers, execution_starts
from benchmarks.suite import Suite

WORKFLOWS = Suite(
    name="workflows",
    plan={
        "chain": chain.figures,
        "fan-out": fan_out.figures,
        "step-latency": step_latency.figures,
        "execution-starts": execution_starts.figures,
        "chain-peers": chain_peers.figures,
    },
)
