"""Which work a node takes: from which queues, in which order, and what it is able to perform.

    --queues mail,reports               these two; each is asked first as often as the other
    --queues mail=3,reports             mail is asked first three times out of four
    --queues mail,reports               and --queue-order strict: reports only when no mail is due
    --queues-except slow                all there are and will be, but one

Priority comes before all that: of what is due, a job of a higher priority goes first whatever its
queue. Weights and order decide among jobs of one priority.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from windlass.limits import QUEUE_WEIGHT_MAX

QueueOrder = Literal["turns", "strict"]
_WEIGHTED: Final = re.compile(r"(?P<name>[^=]+)=(?P<weight>[0-9]{1,4})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedQueues:
    names: tuple[str, ...] = ()  # in the order given; empty: all there are
    weights: tuple[int, ...] = ()  # one for each of them
    excluded: tuple[str, ...] = ()
    order: QueueOrder = "turns"

    @property
    def asked(self) -> list[str] | None:
        """As statements want it; None: all."""
        return list(self.names) or None

    def include(self, queue: str) -> bool:
        return (not self.names or queue in self.names) and queue not in self.excluded

    def in_order(self, queues: Sequence[str], turn: int) -> list[str]:
        """Who is asked first, second, … in this turn, of `queues`, which this node serves.

        Each is the first as many turns as it has weight; who is not follows in a circle.
        """
        if self.order == "strict":
            return sorted(queues, key=self.names.index) if self.names else sorted(queues)
        given = dict(zip(self.names, self.weights, strict=True))
        circle = sorted(queues)
        weights = [given.get(queue, 1) for queue in circle]
        rest = turn % (sum(weights) or 1)
        for first, weight in enumerate(weights):
            if rest < weight:
                return circle[first:] + circle[:first]
            rest -= weight
        return circle

    def __str__(self) -> str:
        shown = [
            name if weight == 1 else f"{name}={weight}"
            for name, weight in zip(self.names, self.weights, strict=True)
        ]
        named = ", ".join(shown) or "all"
        excluded = f" but {', '.join(self.excluded)}" if self.excluded else ""
        return named + excluded + (" (strict)" if self.order == "strict" else "")


ALL_QUEUES: Final = ServedQueues()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedWork:
    """What a claim may take. None: whatever there is."""

    queues: ServedQueues = ALL_QUEUES
    kinds: list[str] | None = None
    tasks: list[str] | None = None  # of `python`


ANY_WORK: Final = ServedWork()


def read_served_queues(
    queues: Sequence[str] = (), excluded: Sequence[str] = (), order: QueueOrder = "turns"
) -> ServedQueues:
    """From names, each perhaps with a weight, as in `mail=3`. Raises ValueError."""
    weights = dict(map(_read_weighted, queues))
    return ServedQueues(
        names=tuple(weights),
        weights=tuple(weights.values()),
        excluded=tuple(excluded),
        order=order,
    )


def _read_weighted(text: str) -> tuple[str, int]:
    found = _WEIGHTED.fullmatch(text)
    name, weight = (found["name"], int(found["weight"])) if found else (text, 1)
    if not 1 <= weight <= QUEUE_WEIGHT_MAX:
        raise ValueError(f"the weight of a queue is from 1 to {QUEUE_WEIGHT_MAX}")
    return name, weight
