"""Every named JSON Schema of the OpenAPI document: each noun has its own beside its routes.

What goes out is taken from the structures that are sent (`view.py`); what comes in is checked by
model/job/submission.py and described in the same words. tests/api compares the two.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from windlass.api import queues, secrets, target_limits
from windlass.api.cluster import cache, health, nodes, operation_view, refresh, signals, system
from windlass.api.executions import schema as executions
from windlass.api.http import shapes
from windlass.api.http.field_texts import describe
from windlass.api.http.shapes import Named
from windlass.api.jobs import schema as jobs
from windlass.api.locks import view as locks
from windlass.api.schedules import schema as schedules
from windlass.api.workflows import view as workflows

_NOUNS: Final = (
    *(shapes, jobs, queues, target_limits, locks, secrets, executions, schedules),
    *(nodes, system, refresh, cache, signals, operation_view, health),
)


def components(kinds: Collection[str]) -> Named:
    """Each with words. `kinds`: of jobs, for which there are some as well."""
    named = {**jobs.schemas(kinds), **workflows.schemas(kinds)}
    for noun in _NOUNS:
        named |= noun.SCHEMAS
    return describe(named)
