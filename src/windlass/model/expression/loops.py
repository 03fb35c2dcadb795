"""What goes through several answers: loops, and `&&` and `||`.

One part that decides is enough, even if another has no answer: `x.exists(i, i.y == 1)` is true as
soon as one is, although the first has no `y`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from windlass.model.expression.operators import truth
from windlass.model.expression.run import Run, Spent, Step, Unanswerable
from windlass.model.expression.values import type_of

# What it takes to find that a part has no answer, and to go on without it.
_TROUBLE_COSTS: Final = 25
_LOOP_COSTS: Final = 3


def decided(parts: tuple[Step, ...], by: bool) -> Step:
    """`||`, decided by a true part, and `&&`, decided by a false one."""
    return lambda run: _decide(run, iter(parts), by)


def loop(kind: str, of: Step, slot: int, only: Step | None, body: Step, cost: int) -> Step:
    """`cost` is that of one turn. `only` is a `map`'s condition, if it has one."""
    over = _over(of, slot, cost)
    match kind:
        case "map":
            return lambda run: [body(run) for _ in over(run) if only is None or truth(only(run))]
        case "filter":
            return lambda run: [found for found in over(run) if truth(body(run))]
        case "exists_one" | "existsOne":
            return lambda run: sum(truth(body(run)) for _ in over(run)) == 1
        case _:
            by = kind == "exists"
            return lambda run: _decide(run, (body for _ in over(run)), by)


def _decide(run: Run, parts: Iterator[Step], by: bool) -> bool:
    trouble: Unanswerable | None = None
    for part in parts:
        try:
            if truth(part(run)) is by:
                return by
        except Spent:
            raise
        except Unanswerable as unknown:
            run.spend(_TROUBLE_COSTS)
            trouble = trouble or unknown
    if trouble is not None:
        raise trouble
    return not by


def _over(of: Step, slot: int, cost: int) -> Callable[[Run], Iterator[Any]]:
    """The elements of a list, or the keys of a map, each bound in its turn."""

    def over(run: Run) -> Iterator[Any]:
        elements = of(run)
        if type(elements) is not list and type(elements) is not dict:
            raise Unanswerable(f"a loop goes through a list or a map, not {type_of(elements)}")
        run.spend(_LOOP_COSTS)
        bound = run.bound
        for element in elements:
            run.spend(cost)
            bound[slot] = element
            yield element

    return over
