"""Turns of steps, taken where they hold nobody up.

What a user wrote is evaluated on the node's loop only while it is quick: all that one transaction
decides shares `EXPRESSION_QUICK_WORK_MAX`, some milliseconds. Whatever needs more is evaluated
again, from its beginning, in a thread, where it costs the loop no more than the interpreter's
switches; expressions have no effects, so nothing is done twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, ParamSpec, TypeVar

from windlass.limits import EXPRESSION_QUICK_WORK_MAX, EXPRESSION_WORK_MAX
from windlass.model.expression import Run, Spent
from windlass.model.plan import Work
from windlass.model.template import Template
from windlass.model.turn import Scope, Turn, work_of
from windlass.store.database import Refused

P = ParamSpec("P")
T = TypeVar("T")

# One: threads that evaluate do not evaluate faster together.
_THREAD: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="windlass-expressions")


class TooMuchAtOnce(Refused):
    """What was to be decided in one transaction is too much work for it. Nothing was changed; the
    caller comes again with fewer at a time.
    """

    code = "too_much_at_once"

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(f"the expressions of {count} executions are too much for one transaction")


async def apart(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call it in the thread of expressions."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_THREAD, lambda: function(*args, **kwargs))


async def work_apart(work: Work, scope: Scope) -> Turn:
    """`work_of`, wherever it has the time it needs."""
    turn = work_of(work, scope, Run(scope, EXPRESSION_QUICK_WORK_MAX))
    return await apart(work_of, work, scope) if turn.is_spent else turn


async def filled_apart(template: Template, scope: dict[str, Any]) -> tuple[str, int]:
    """The filled template and the work it was. Raises Unanswerable."""
    run = Run(scope, EXPRESSION_QUICK_WORK_MAX)
    try:
        return template.fill_json(scope, run), EXPRESSION_QUICK_WORK_MAX - run.left
    except Spent:
        run = Run(scope)
        text = await apart(template.fill_json, scope, run)
        return text, EXPRESSION_WORK_MAX - run.left
