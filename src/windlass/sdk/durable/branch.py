"""Where in a durable function a call stands.

A place must be the same when the function is played again, though its steps then take no time at
all and so finish in another order. Within one task of asyncio calls follow each other, and so are
counted; a task that the function made is a branch of its own, named by the order in which such
branches made their first call:

    await step(a)                      ""  place 0
    await gather(left(), right())      left: "0"  places 0, 1, …     right: "1"  places 0, 1, …
    await step(b)                      ""  place 1
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windlass.sdk.durable.run import Run


class Branch:
    __slots__ = ("_children", "_places", "path", "run", "task")

    def __init__(self, run: Run, path: str) -> None:
        self.run, self.path = run, path
        self.task: asyncio.Task[Any] | None = asyncio.current_task()
        self._places = self._children = 0

    def next_place(self) -> int:
        self._places += 1
        return self._places - 1

    def child(self) -> Branch:
        path = f"{self.path}.{self._children}" if self.path else str(self._children)
        self._children += 1
        return Branch(self.run, path)


# A task inherits it from the one that made it. None: no durable function runs here.
_here: ContextVar[Branch | None] = ContextVar("windlass_branch", default=None)


def enter(run: Run) -> None:
    """The function itself begins, in a task of its own."""
    _here.set(Branch(run, ""))


def branch_here() -> Branch | None:
    branch = _here.get()
    if branch is None or branch.task is asyncio.current_task():
        return branch
    made = branch.child()
    _here.set(made)
    return made
