"""The figures of jobs."""

from __future__ import annotations

from benchmarks.figures import (
    backlog,
    batch,
    drain,
    due,
    held,
    idle,
    latency,
    limited,
    memory,
    outage,
    post,
)
from benchmarks.suite import Suite

JOBS = Suite(
    name="jobs",
    plan={
        "drain": drain.figures,
        "due": due.figures,
        "batch": batch.figures,
        "post": post.figures,
        "latency": latency.figures,
        "idle": idle.figures,
        "backlog": backlog.figures,
        "held": held.figures,
        "limited": limited.figures,
        "memory": memory.figures,
        "outage": outage.figures,
    },
)
