"""Look after steps that nobody performs: fan-outs, child executions, those who wait for a signal;
and let jobs heed what was asked of their executions.

Done after the commit that made them or ended parts of them. Each deed is idempotent, and its own
ends may call for more; what a crash left undone is found by `engine.executions.untended`.
Promises: nobody waits for one that cannot be looked after, or whose row somebody holds
(engine.apart); a step whose mistake is permanent ends `dead` with the reason.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable
from functools import partial
from typing import TypeVar
from uuid import UUID

import structlog

from windlass.engine.apart import Apart, Troubled
from windlass.engine.executions.children import begin_children
from windlass.engine.executions.fan_out import held_steps, tend_fans
from windlass.engine.executions.heed import heed
from windlass.engine.executions.refresh import held_executions
from windlass.engine.executions.signals import ask
from windlass.engine.finished import Finished
from windlass.engine.jobs.awaited import bury_unstorable
from windlass.engine.progressed import Progressed
from windlass.errors import Unavailable
from windlass.limits import EXECUTION_TREE_MAX
from windlass.store.database import BadValue, Database

log = structlog.get_logger()

T = TypeVar("T", bound=Hashable)


def needs_tending(progressed: Progressed) -> bool:
    return bool(progressed.fans or progressed.unbegun or progressed.asked or progressed.unheard)


async def tend(
    database: Database,
    progressed: Progressed,
    troubled: Troubled | None = None,
    tree_max: int = EXECUTION_TREE_MAX,
    held: Progressed | None = None,
) -> Finished:
    """One round; what came of it may need another. Never fails: what could not be looked after is
    left to those who look again. What somebody holds goes to `held`, to be tried soon.
    """
    finished = Finished()
    later = Progressed() if held is None else held
    troubled = troubled or Troubled()

    async def each(
        what: str,
        items: Collection[T],
        deed: Callable[[Database, Collection[T]], Awaitable[Finished]],
        find_held: Callable[[Database, list[T]], Awaitable[set[UUID]]],
        put_off: Callable[[T], None],
        bury: Callable[[T, BadValue], Awaitable[Finished]] | None = None,
    ) -> None:
        round_ = Apart(
            what=what,
            deed=partial(deed, database),
            tell=finished.add,
            troubled=troubled,
            bury=bury,
            held=partial(find_held, database),
            put_off=put_off,
        )
        await round_.each(items)

    async def give_up(job_id: UUID, trouble: BadValue) -> Finished:
        return await bury_unstorable(database, job_id, trouble)

    try:
        begin = partial(begin_children, tree_max=tree_max)
        unbegun, asked = progressed.unbegun, progressed.asked
        await each("begin children", unbegun, begin, held_steps, later.unbegun.add, give_up)
        await each("ask", asked, ask, held_steps, later.asked.add, give_up)
        await each("heed", progressed.unheard, heed, held_executions, later.unheard.add)
        if progressed.fans:
            await tend_fans(database, progressed.fans, finished.add, troubled, later.fans.add)
    except Unavailable as trouble:
        # Not kept for later: the net finds it when PostgreSQL is back.
        log.warning("tending_put_off", reason=str(trouble))
    return finished
