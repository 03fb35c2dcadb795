"""Look after steps that nobody performs: fan-outs, child executions, those who wait for a signal;
and let jobs heed what was asked of their executions.

Done after the commit that made them or ended parts of them. Each deed is idempotent, and its own
ends may call for more; what a crash left undone is found by `engine.untended`.
"""

from __future__ import annotations

from windlass.engine.children import begin_children
from windlass.engine.fan import tend_fans
from windlass.engine.finished import Finished
from windlass.engine.heed import heed
from windlass.engine.progressed import Progressed
from windlass.engine.signal_execution import ask
from windlass.store.database import Database


def needs_tending(progressed: Progressed) -> bool:
    return bool(progressed.fans or progressed.unbegun or progressed.asked or progressed.unheard)


async def tend(database: Database, progressed: Progressed) -> Finished:
    """One round; what came of it may need another."""
    finished = Finished()
    if progressed.unbegun:
        finished.add(await begin_children(database, progressed.unbegun))
    if progressed.asked:
        finished.add(await ask(database, progressed.asked))
    if progressed.unheard:
        finished.add(await heed(database, progressed.unheard))
    if progressed.fans:
        finished.add(await tend_fans(database, progressed.fans))
    return finished
