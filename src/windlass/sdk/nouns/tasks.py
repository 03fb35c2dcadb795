"""Tasks: the Python functions that nodes have, by name."""

from __future__ import annotations

import builtins
from typing import ClassVar

from windlass.sdk.http.paging import Thing
from windlass.sdk.nouns.noun import Noun


class Tasks(Noun):
    path: ClassVar[str] = "/v1/tasks"

    async def get(self, name: str) -> Thing:
        """What it takes and gives, which nodes have it, how many of its jobs wait or run."""
        return await self._read(self._one(name))

    async def list(self) -> builtins.list[Thing]:
        return await self._all(self.path)
