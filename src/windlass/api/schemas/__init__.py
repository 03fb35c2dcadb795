"""JSON Schemas of what goes in and out, for the OpenAPI document: one file a noun.

What goes out is taken from the structures that are sent (`view.py`); what comes in is checked by
model/submission.py and described here in the same words. tests/api compares the two.
"""

from __future__ import annotations

from collections.abc import Collection

from windlass.api.schemas import (
    approval,
    cache,
    counts,
    dead_letter,
    execution,
    execution_verb,
    health,
    history,
    job,
    leader,
    lock,
    node,
    operation,
    problem,
    queue,
    refresh,
    schedule,
    secret,
    signal,
    stats,
    strategy,
    submission,
    sweep,
    target,
    webhook,
    workflow,
)
from windlass.api.schemas.shape import (
    ANY_OBJECT,
    COUNT,
    INSTANT,
    STATE,
    TEXT,
    Named,
    Schema,
    duration,
    listed,
    nullable,
    page_of,
    record,
    ref,
)
from windlass.api.schemas.words import describe

__all__ = [
    "ANY_OBJECT",
    "COUNT",
    "INSTANT",
    "STATE",
    "TEXT",
    "Schema",
    "components",
    "duration",
    "listed",
    "nullable",
    "page_of",
    "record",
    "ref",
]


def components(kinds: Collection[str]) -> Named:
    """Every named schema, each with words."""
    return describe(
        {
            **job.SCHEMAS,
            **submission.schemas(kinds),
            **counts.SCHEMAS,
            **problem.SCHEMAS,
            **history.SCHEMAS,
            **dead_letter.SCHEMAS,
            **queue.SCHEMAS,
            **target.SCHEMAS,
            **lock.SCHEMAS,
            **secret.SCHEMAS,
            **webhook.SCHEMAS,
            **workflow.schemas(kinds),
            **execution.SCHEMAS,
            **execution_verb.SCHEMAS,
            **approval.SCHEMAS,
            **schedule.SCHEMAS,
            **stats.SCHEMAS,
            **node.SCHEMAS,
            **sweep.SCHEMAS,
            **refresh.SCHEMAS,
            **cache.SCHEMAS,
            **strategy.SCHEMAS,
            **leader.SCHEMAS,
            **signal.SCHEMAS,
            **operation.SCHEMAS,
            **health.SCHEMAS,
        }
    )
