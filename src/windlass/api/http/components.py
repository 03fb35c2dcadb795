"""JSON Schemas of what goes in and out, for the OpenAPI document: one file a noun.

What goes out is taken from the structures that are sent (`view.py`); what comes in is checked by
model/job/submission.py and described here in the same words. tests/api compares the two.
"""

from __future__ import annotations

from collections.abc import Collection

from windlass.api import queue_schema as queue
from windlass.api import secret_schema as secret
from windlass.api import stats_schema as stats
from windlass.api import target_schema as target
from windlass.api.cluster import cache_schema as cache
from windlass.api.cluster import health_schema as health
from windlass.api.cluster import leader_schema as leader
from windlass.api.cluster import node_schema as node
from windlass.api.cluster import operation_schema as operation
from windlass.api.cluster import refresh_schema as refresh
from windlass.api.cluster import signal_schema as signal
from windlass.api.cluster import strategy_schema as strategy
from windlass.api.cluster import sweep_schema as sweep
from windlass.api.executions import approval_schema as approval
from windlass.api.executions import schema as execution
from windlass.api.executions import verb_schema as execution_verb
from windlass.api.http import counts_schema as counts
from windlass.api.http import problem_schema as problem
from windlass.api.http.field_texts import describe
from windlass.api.http.shapes import (
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
from windlass.api.jobs import dead_letter_schema as dead_letter
from windlass.api.jobs import history_schema as history
from windlass.api.jobs import schema as job
from windlass.api.jobs import submission_schema as submission
from windlass.api.jobs import webhook_schema as webhook
from windlass.api.locks import lock_schema as lock
from windlass.api.schedules import schema as schedule
from windlass.api.workflows import workflow_schema as workflow

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
