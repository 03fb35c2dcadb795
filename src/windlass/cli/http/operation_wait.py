"""Stay with an operation until it has ended, and tell how far it is.

Promises: what is told meanwhile goes to standard error. The server may be away for a while, as the
node that serves it may be the one that changes; the wait goes on.
"""

from __future__ import annotations

import math
import time

from windlass.cli.exits import Exit, Stopped
from windlass.cli.http.away import though_away
from windlass.cli.http.client import Answer, Client, segment
from windlass.cli.limits import POLL_WATCHED_SECONDS, POLL_WATCHED_SECONDS_MAX
from windlass.cli.show.operation import sentence
from windlass.cli.show.progress import telling
from windlass.clock import monotonic
from windlass.model.cluster.operation import ENDED


def until_ended(client: Client, first: Answer, longest: float = math.inf) -> Answer:
    """The operation at its end. Raises Stopped with TIMED_OUT when `longest` has passed."""
    answer, operation = first, first.value
    path = f"/v1/operations/{segment(operation['id'])}"
    begun = monotonic()
    with telling() as tell:
        while operation["phase"] not in ENDED:
            tell(sentence(operation))
            waited = monotonic() - begun
            if waited >= longest:
                raise Stopped(
                    f"{operation['id']} is still {operation['phase']} after {longest:g} s; it goes "
                    f"on without us: windlass operation watch {operation['id']}",
                    Exit.TIMED_OUT,
                )
            time.sleep(min(_rest(waited), longest - waited))
            answer = though_away(lambda: client.get(path), tell)
            operation = answer.value
        tell(sentence(operation))
    return answer


def _rest(waited: float) -> float:
    """The longer it has taken, the less does a moment matter."""
    return min(max(POLL_WATCHED_SECONDS, waited / 10), POLL_WATCHED_SECONDS_MAX)
