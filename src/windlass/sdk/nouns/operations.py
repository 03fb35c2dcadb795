"""Operations on their way: changes of nodes, and verbs on many jobs."""

from __future__ import annotations

from typing import Any, ClassVar

from windlass.sdk.http.paging import Pages
from windlass.sdk.nouns.noun import Many, Noun
from windlass.sdk.objects.cluster import ClusterOperation, Operation
from windlass.sdk.objects.jobs import BulkOperation

AnyOperation = Operation | ClusterOperation | BulkOperation


class Operations(Noun):
    """Changes of nodes, and verbs on many jobs, on their way."""

    path: ClassVar[str] = "/v1/operations"

    async def get(self, operation_id: str) -> AnyOperation:
        """Read how far it is."""
        return _one_or_all(await self._exchange.get(self._one(operation_id)))

    def list(
        self, *, node_id: str | None = None, phase: Many | None = None, limit: int | None = None
    ) -> Pages[Operation]:
        """List changes of nodes, newest first. See `jobs.bulk_operations` for the others."""
        return self._pages(Operation, {"node_id": node_id, "phase": phase, "limit": limit})

    async def abort(self, operation_id: str) -> AnyOperation:
        """Call it back: a node returns to its old size, no more jobs are touched."""
        return _one_or_all(await self._exchange.post(self._one(operation_id, "abort")))


def _one_or_all(answer: dict[str, Any]) -> AnyOperation:
    """Of one node, of all, or of many jobs."""
    if answer["kind"] == "bulk":
        return BulkOperation(answer)
    return ClusterOperation(answer) if "operations" in answer else Operation(answer)
