"""Resize: changing how many slots a node has, while it works (docs/operations.md).

Growing is one step. Shrinking lets attempts end first, and closes only connections that nobody
uses: what is in flight keeps its own. If anything stops a resize on its way, the node is left as it
was before.

    pausing -> draining -> shrinking -> applying -> resuming
       '-----------'------------'----------'------------'---> as it was (rolled back)
"""

from __future__ import annotations

from dataclasses import dataclass

from windlass.clock import monotonic
from windlass.limits import HAND_BACK_SECONDS, OPERATION_SAY_SECONDS
from windlass.model.cluster.operation import Operation
from windlass.runtime.cluster.operation_progress import OperationProgress
from windlass.runtime.worker.kinds import Kinds
from windlass.runtime.worker.target_gate import TargetGate
from windlass.runtime.worker.worker import Worker

WHY = "resize"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resizer:
    worker: Worker
    kinds: Kinds
    targets: TargetGate

    async def resize(self, progress: OperationProgress) -> None:
        """Raises OperationInterrupted when it is called back; then everything is as before."""
        operation = progress.operation
        assert operation.to_workers is not None
        try:
            if operation.is_shrink:
                await self._shrink(progress, operation, operation.to_workers)
            else:
                await progress.enter("applying")
                self.apply(operation.to_workers)
        except BaseException:
            self.apply(operation.from_workers)
            raise
        finally:
            self.worker.resume_claiming(WHY)

    async def _shrink(
        self, progress: OperationProgress, operation: Operation, workers: int
    ) -> None:
        await progress.enter("pausing")
        self.worker.pause_claiming(WHY)
        await self.worker.put_back()
        await progress.enter("draining")
        await self._drain(progress, operation, workers)
        await progress.enter("shrinking")
        self.kinds.resize(workers)
        await progress.enter("applying")
        self.apply(workers)
        await progress.enter("resuming")

    async def _drain(self, progress: OperationProgress, operation: Operation, workers: int) -> None:
        """Until no more run than will have slots; to zero: until nothing runs."""
        until = monotonic() + operation.drain_seconds
        while self.worker.executing > workers and (left := until - monotonic()) > 0:
            await progress.say(in_flight=self.worker.executing)
            await self.worker.fall_to(workers, min(left, OPERATION_SAY_SECONDS))
        handed_back = 0
        if self.worker.executing > workers and operation.on_timeout == "hand_back":
            handed_back = self.worker.hand_back_beyond(workers)
            await self.worker.fall_to(workers, HAND_BACK_SECONDS)
        # What is to finish late runs above the new size until it ends.
        await progress.say(in_flight=self.worker.executing, handed_back=handed_back)

    def apply(self, workers: int) -> None:
        """The slots, and everything that is reckoned from their number."""
        self.worker.resize(workers)
        self.targets.resize(workers)
        self.kinds.resize(workers)
