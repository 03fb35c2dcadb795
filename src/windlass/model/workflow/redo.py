"""Which steps of an execution that has ended a rerun does again: the pure part of it.

A step that is done again takes along all that followed from it: what those did was decided by an
end that is no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from windlass.model.workflow.plan import UNDO, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnd:
    state: str
    is_foreseen: bool = False  # its failure fails nothing by itself


def descendants(plan: Plan, steps: Iterable[str]) -> frozenset[str]:
    """All that follows from these steps, at whatever distance."""
    found: set[str] = set()
    near = list(steps)
    while near:
        fresh = set(plan.vertices[near.pop()].dependents) - found
        found |= fresh
        near += fresh
    return frozenset(found)


def compensated(ends: Mapping[str, StepEnd]) -> frozenset[str]:
    """Steps whose compensation ran: what they did was taken back, so they are to be done again."""
    return frozenset(step.removesuffix(UNDO) for step in ends if step.endswith(UNDO))


def unsuccessful(plan: Plan, ends: Mapping[str, StepEnd]) -> frozenset[str]:
    """Steps that failed and were not meant to, were cancelled, or never had their turn."""
    return frozenset(step for step in plan.vertices if _is_unsuccessful(ends.get(step)))


def _is_unsuccessful(end: StepEnd | None) -> bool:
    if end is None or end.state == "cancelled":
        return True
    return end.state in ("dead", "expired") and not end.is_foreseen
