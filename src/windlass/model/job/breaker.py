"""What a delivery says about its target, and whether another may go to it.

    closed --failures in a row--> open --rest over--> half open --a probe is answered--> closed
                                    ^------------ the probe fails, twice the rest ----'

An answer of any kind shows that the target lives; only 5xx, silence and a broken connection speak
against it. What went wrong on our own side says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, Protocol

from windlass.model.job.outcome import (
    Awaited,
    Cancelled,
    Crashed,
    Failed,
    Outcome,
    Snoozed,
    Succeeded,
    TimedOut,
)

Breaker = Literal["closed", "open", "half_open"]
ParkedFor = Literal["disabled", "breaker", "rate", "max_running", "crowded"]
Verdict = Literal["answered", "failed", "gone", "neutral"]

FAILURES: Final = 10  # in a row, to open: what the column's default says
_OURS: Final = frozenset(
    {
        "egress_refused",
        "secret",
        "secret_not_for_host",
        "signing_unavailable",
        "auth",
        "invalid_input",
        "unknown_kind",
        # The node that delivers lacks something: descriptors, ports, memory, a way out.
        "out of sockets",
        "no route",
    }
)


class Row(Protocol):
    def __getitem__(self, name: str, /) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A target as its row tells."""

    host: str
    is_enabled: bool = True
    rate: float | None = None  # deliveries a second; None: no limit
    max_running: int | None = None  # None: no limit
    breaker: Breaker = "closed"
    open_until: datetime | None = None  # None: closed
    failures: int = FAILURES  # in a row, to open; 0: never

    @property
    def is_ordinary(self) -> bool:
        """Nothing is known of it that a target nobody knows would not have."""
        return self.is_unlimited and self.failures == FAILURES

    @property
    def is_unlimited(self) -> bool:
        closed = self.is_enabled and self.breaker == "closed"
        return closed and self.rate is None and self.max_running is None


def target_from(row: Row) -> Target:
    return Target(
        host=row["host"],
        is_enabled=row["is_enabled"],
        rate=row["rate"],
        max_running=row["max_running"],
        breaker=row["breaker"],
        open_until=row["open_until"],
        failures=row["breaker_failures"],
    )


def why_not(target: Target, *, has_pass: bool) -> ParkedFor | None:
    """What keeps a delivery from its target; None: it may go.

    A pass says that the limits were asked under the target's lock, and that an open breaker wants
    this one as its probe.
    """
    if not target.is_enabled:
        return "disabled"
    if has_pass:
        return None
    if target.breaker != "closed":
        return "breaker"
    if target.rate is not None:
        return "rate"
    return None if target.max_running is None else "max_running"


def room(target: Target, now: datetime, *, passes: int, probes: int, places: int) -> int:
    """How many parked jobs of a target may go. `passes` are out already; `places` is what the
    rate, or the node that asks, has room for.
    """
    if not target.is_enabled:
        return 0
    if target.breaker == "open" and target.open_until is not None and target.open_until > now:
        return 0
    if target.breaker != "closed":
        return max(0, probes - passes)
    if target.max_running is not None:
        places = min(places, target.max_running - passes)
    return max(0, places)


def verdict(outcome: Outcome, status_code: int | None) -> Verdict:
    """What an attempt's end says about its target."""
    match outcome:
        case Succeeded() | Awaited():
            return "answered"
        case Failed(cause):
            if status_code is None:
                return "neutral" if cause in _OURS else "failed"
            if cause == "gone":
                return "gone"
            return "failed" if status_code >= 500 else "answered"
        case TimedOut():
            return "failed"
        case Cancelled() | Snoozed() | Crashed():
            return "neutral"
