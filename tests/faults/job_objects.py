"""Job objects as a caller of the API would write them; the marker is their correlation id."""

from __future__ import annotations

import random
from typing import Any

from windlass.clock import wall
from windlass.model.job.draft import Draft
from windlass.model.job.submission import SubmissionContext, read_batch
from windlass.strategies.builtin import INPUT_CHECKS

Job = dict[str, Any]


def noop(marker: str, **fields: Any) -> Job:
    return {"kind": "noop", "correlation_id": marker, **fields}


def wait(marker: str, seconds: float, **fields: Any) -> Job:
    return {
        "kind": "wait",
        "input": {"seconds": seconds},
        "correlation_id": marker,
        **fields,
    }


def task(name: str, marker: str, *args: Any, **fields: Any) -> Job:
    """The task gets its marker first, then `args`."""
    return {
        "kind": "python",
        "input": {"task": name, "args": [marker, *args]},
        "correlation_id": marker,
        **fields,
    }


def hook(marker: str, url: str, **fields: Any) -> Job:
    """A webhook that is tried again soon."""
    again = {"max_attempts": 10, "initial": "200ms", "factor": 1, "jitter": False}
    return {
        "kind": "http",
        "input": {"url": url, "json": {"marker": marker}},
        "correlation_id": marker,
        "retry": again,
        **fields,
    }


def mixed(count: int, chance: random.Random) -> list[Job]:
    """Mostly quick jobs of every kind that needs no network."""
    made: list[Job] = []
    for n in range(count):
        marker = f"m{n}"
        match chance.choices(("noop", "note", "note_async", "wait"), (50, 20, 10, 20))[0]:
            case "noop":
                made.append(noop(marker))
            case "wait":
                made.append(wait(marker, round(chance.uniform(0, 0.1), 3)))
            case name:
                made.append(task(name, marker, round(chance.uniform(0, 0.04), 3)))
    return made


def drafts(jobs: list[Job]) -> list[Draft]:
    return read_batch({"jobs": jobs}, SubmissionContext(kinds=INPUT_CHECKS), wall())
