"""Reservations: slots kept for jobs that this node itself accepts, while they are inserted.

A reserved slot is free and yet not to be claimed for. It is given back when the insert has been
answered, whatever the answer is; in doubt the worker looks for what may have been inserted.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID, uuid4

from windlass.engine.jobs.enqueue import Reservation
from windlass.model.job.draft import Draft
from windlass.runtime.worker.kinds import Kinds


class Reservations:
    def __init__(self, kinds: Kinds, node_id: UUID) -> None:
        self._kinds = kinds
        self._node_id = node_id
        self.slots = 0  # how many are kept now
        self.claim_ids: set[UUID] = set()  # of inserts that are on their way

    def keep(self, drafts: Sequence[Draft], slots_free: int) -> Reservation | None:
        """Places for those of `drafts` that may begin at once; None if none may."""
        return self._keep(
            [(draft.kind, draft.is_due and draft.parked_for is None) for draft in drafts],
            slots_free,
        )

    def keep_steps(self, kinds: Sequence[str], slots_free: int) -> Reservation | None:
        """The same for steps, which are due when they are inserted."""
        return self._keep([(kind, True) for kind in kinds], slots_free)

    def _keep(self, asked: Sequence[tuple[str, bool]], slots_free: int) -> Reservation | None:
        free = slots_free - self.slots
        starts, slots = [], 0
        for kind, is_due in asked:
            needs_slot = kind not in self._kinds.instant
            starts.append(is_due and not (needs_slot and slots >= free))
            slots += starts[-1] and needs_slot
        if not any(starts):
            return None
        self.slots += slots
        claim_id = uuid4()
        self.claim_ids.add(claim_id)
        return Reservation(node_id=self._node_id, claim_id=claim_id, starts=starts, slots=slots)

    def release(self, reservation: Reservation) -> None:
        self.slots -= reservation.slots
        self.claim_ids.discard(reservation.claim_id)
