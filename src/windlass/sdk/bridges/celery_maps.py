"""`task.map`, `task.starmap` and `task.chunks`: tasks of Celery's own that call another for each
element.

They are named `celery.map` and the like; what decides where they go is the task that they call. A
map is one job; chunks are a group of starmaps (celery_canvas).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

MAPS: Final = frozenset({"celery.map", "celery.starmap", "celery.chunks"})


def called_by(name: str, kwargs: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The signature that is called for each element. None: it is no such task."""
    if name not in MAPS:
        return None
    found = (kwargs or {}).get("task")
    return found if isinstance(found, Mapping) and isinstance(found.get("task"), str) else None


def spelled_out(name: str, kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keyword arguments of a map with its signature as what it is written as, and its generator
    gone through; those of any other task as they are.
    """
    given = dict(kwargs or {})
    called = called_by(name, given)
    if called is None:
        return given
    return {**given, "task": json.loads(json.dumps(dict(called))), "it": list(given["it"])}
