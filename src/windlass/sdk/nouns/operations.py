"""Operations: changes of nodes on their way."""

from __future__ import annotations

from typing import ClassVar

from windlass.sdk.http.paging import Pages, Thing
from windlass.sdk.nouns.noun import Many, Noun


class Operations(Noun):
    path: ClassVar[str] = "/v1/operations"

    async def get(self, operation_id: str) -> Thing:
        return await self._read(self._one(operation_id))

    def list(
        self, *, node_id: str | None = None, phase: Many | None = None, limit: int | None = None
    ) -> Pages:
        """Newest first."""
        return self._pages({"node_id": node_id, "phase": phase, "limit": limit})

    async def abort(self, operation_id: str) -> Thing:
        """The node returns to its old size."""
        return await self._verb(operation_id, "abort")
