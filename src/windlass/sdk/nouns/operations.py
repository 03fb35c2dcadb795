"""Operations: changes of nodes on their way."""

from __future__ import annotations

from typing import Any, ClassVar

from windlass.sdk.http.paging import Pages
from windlass.sdk.nouns.noun import Many, Noun
from windlass.sdk.objects.cluster import ClusterOperation, Operation


class Operations(Noun):
    """Changes of nodes on their way."""

    path: ClassVar[str] = "/v1/operations"

    async def get(self, operation_id: str) -> Operation | ClusterOperation:
        """Read how far it is."""
        return _one_or_all(await self._exchange.get(self._one(operation_id)))

    def list(
        self, *, node_id: str | None = None, phase: Many | None = None, limit: int | None = None
    ) -> Pages[Operation]:
        """List them, newest first."""
        return self._pages(Operation, {"node_id": node_id, "phase": phase, "limit": limit})

    async def abort(self, operation_id: str) -> Operation | ClusterOperation:
        """Undo it: the node returns to its old size."""
        return _one_or_all(await self._exchange.post(self._one(operation_id, "abort")))


def _one_or_all(answer: dict[str, Any]) -> Operation | ClusterOperation:
    """Of one node, or of all."""
    return ClusterOperation(answer) if "operations" in answer else Operation(answer)
