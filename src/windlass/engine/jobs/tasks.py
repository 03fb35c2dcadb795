"""Tasks by name: what each takes and gives, who has it, and how many of its jobs wait or run.

Owns: windlass.task, which a node fills when it starts. A task that no node has any more stays for a
while: its jobs may be looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from windlass.errors import NotFound
from windlass.limits import (
    KEY_CHARS_MAX,
    TASK_DESCRIPTION_BYTES_MAX,
    TASKS_KEPT_SECONDS,
    TASKS_MAX,
)
from windlass.model.json.printable import is_printable
from windlass.store.database import Database, Record
from windlass.store.statements import statement

DEAD_COUNTED_MAX: Final = 10_000
_FORGET_BATCH: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTask:
    name: str
    app: str | None  # None: it stands in an object that is no App
    description: Mapping[str, Any]


async def describe_tasks(database: Database, tasks: Sequence[DescribedTask]) -> None:
    """What a node that starts says of those it has. One that says too much, or what is no JSON, is
    only named; one whose name no job could have is left out. No task keeps its node from starting.
    """
    some = [task for task in tasks if _is_nameable(task.name)][:TASKS_MAX]
    if not some:
        return
    await database.run(
        "task_describe_many",
        [task.name for task in some],
        [task.app for task in some],
        [_bounded(task.description) for task in some],
    )


def _is_nameable(name: str) -> bool:
    return 1 <= len(name) <= KEY_CHARS_MAX and is_printable(name)


def _bounded(description: Mapping[str, Any]) -> str:
    try:
        text = msgspec.json.encode(description)
    except (TypeError, ValueError, RecursionError):  # half a character in its documentation, say
        return "{}"
    return text.decode() if len(text) <= TASK_DESCRIPTION_BYTES_MAX else "{}"


async def list_tasks(database: Database) -> list[Record]:
    return await database.browse(statement("task_list"), None, TASKS_MAX, DEAD_COUNTED_MAX)


async def read_task(database: Database, name: str) -> Record:
    """Raises NotFound."""
    rows = await database.browse(statement("task_list"), name, 1, DEAD_COUNTED_MAX)
    if not rows:
        raise NotFound("task", name)
    return rows[0]


async def forget_tasks(database: Database) -> int:
    """Remove a batch of those that no node has had for long; returns how many."""
    return len(await database.run("task_forget", TASKS_KEPT_SECONDS, _FORGET_BATCH))
