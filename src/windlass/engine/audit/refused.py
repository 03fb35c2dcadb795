"""Failed logins and refused requests in the audit log: bounded, however many come.

A stranger may try as often as he likes, from as many addresses as he has. So a node writes a burst
of entries in full and then one in so many seconds (GCRA); what comes between is counted, and the
next entry that is written says how many it stands for. That is AUDIT_REFUSED_BURST and 14,400 a day
for each node, at the very most. What a node has counted and not written when it ends is lost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from windlass.clock import monotonic
from windlass.engine.audit.record import Entry, record_alone
from windlass.limits import AUDIT_REFUSED_BURST, AUDIT_REFUSED_SECONDS
from windlass.store.database import Database

_PATIENCE_SECONDS = (AUDIT_REFUSED_BURST - 1) * AUDIT_REFUSED_SECONDS


class RefusedRecorder:
    """Of one node."""

    def __init__(self) -> None:
        self._due_at = 0.0  # when its entries so far would have been in time, one by one
        self._left_out = 0

    async def record(
        self,
        database: Database,
        make: Callable[[], Awaitable[Entry]],  # not called for what is only counted
    ) -> None:
        """Of what was refused, and so changed nothing."""
        now = monotonic()
        if self._due_at > now + _PATIENCE_SECONDS:
            self._left_out += 1
            return
        self._due_at = max(self._due_at, now) + AUDIT_REFUSED_SECONDS
        left_out, self._left_out = self._left_out, 0
        try:
            entry = await make()
            if left_out:
                said = f"and {left_out} more that were refused since the entry before, of whomever"
                note = said if entry.note is None else f"{entry.note}; {said}"
                entry = replace(entry, note=note, count=1 + left_out)
            await record_alone(database, entry)
        except BaseException:
            self._left_out += 1 + left_out
            raise
