"""Asking a server that may be away for a while, as it is while restarting."""

from __future__ import annotations

import time
from collections.abc import Callable

from windlass.cli.exits import Exit, Stopped
from windlass.cli.http.client import Answer
from windlass.cli.limits import AWAY_SECONDS_MAX, RETRY_PAUSE_SECONDS
from windlass.clock import monotonic


def though_away(ask: Callable[[], Answer], tell: Callable[[str], None]) -> Answer:
    """The answer; asked again while nobody answers. Raises Stopped when that takes too long."""
    away_since: float | None = None
    while True:
        try:
            return ask()
        except Stopped as stop:
            away_since = away_since or monotonic()
            away = monotonic() - away_since
            if stop.code != Exit.UNREACHABLE or away > AWAY_SECONDS_MAX:
                raise
            tell("the server does not answer; trying again")
            time.sleep(RETRY_PAUSE_SECONDS)
