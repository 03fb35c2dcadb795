"""Tasks: the Python functions that nodes have, by name."""

from __future__ import annotations

import builtins
from typing import ClassVar

from windlass.sdk.nouns.noun import Noun
from windlass.sdk.objects.cluster import TaskInfo


class Tasks(Noun):
    """The Python functions that nodes have."""

    path: ClassVar[str] = "/v1/tasks"

    async def get(self, name: str) -> TaskInfo:
        """Read what it takes and gives, which nodes have it, how many of its jobs wait or run."""
        return await self._read(TaskInfo, self._one(name))

    async def list(self) -> builtins.list[TaskInfo]:
        """Read all tasks, by name."""
        return await self._all(TaskInfo, self.path)
