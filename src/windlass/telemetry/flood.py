"""A rate limit on log lines: the first few of a kind are written, the others counted and summed up.

A dead host with 100,000 jobs writes LOG_ALIKE_MAX lines and one number every LOG_WINDOW_SECONDS.
What is of one kind is for the caller to say: the same event of the same task with the same error.

    line line line line line  (4,312 counted)  "… and 4,312 more like this in the last 10 s: …"
    '------------------ LOG_WINDOW_SECONDS -------------------'
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from windlass.clock import monotonic
from windlass.limits import LOG_ALIKE_MAX, LOG_KINDS_MAX, LOG_WINDOW_SECONDS

log = structlog.get_logger()

Kind = tuple[str, ...]


@dataclass(slots=True)
class _Window:
    """What was said of one kind since the first line of it."""

    began_at: float
    level: str
    lines: int = 0
    left_out: int = 0


class FloodGate:
    """One for all lines of a process, from any thread."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self.is_open = False  # everything is written: somebody looks for a fault
        self._windows: dict[Kind, _Window] = {}
        self._lock = threading.Lock()

    def admits(self, kind: Kind, level: str) -> bool:
        """May one more line of this kind be written? If not, it is counted."""
        if self.is_open:
            return True
        now = self._clock()
        with self._lock:
            over = self._take_over(now)
            window = self._window(kind, level, now)
            is_admitted = window.lines < LOG_ALIKE_MAX
            if is_admitted:
                window.lines += 1
            else:
                window.left_out += 1
            is_first_left_out = window.left_out == 1
        self._say(over)
        if not is_admitted and is_first_left_out:
            self._flush_later()
        return is_admitted

    def flush(self) -> None:
        """Say now what was left out, of windows that are not over as well."""
        with self._lock:
            windows, self._windows = self._windows, {}
        self._say(windows)

    def _window(self, kind: Kind, level: str, now: float) -> _Window:
        if kind not in self._windows and len(self._windows) >= LOG_KINDS_MAX:
            kind = (kind[0], "many kinds")  # of which there are as many as there are events
        window = self._windows.get(kind)
        if window is None:
            window = self._windows[kind] = _Window(now, level)
        return window

    def _take_over(self, now: float) -> dict[Kind, _Window]:
        """Those that are over; the oldest stand first."""
        over: dict[Kind, _Window] = {}
        for kind, window in self._windows.items():
            if now - window.began_at < LOG_WINDOW_SECONDS:
                break
            over[kind] = window
        for kind in over:
            del self._windows[kind]
        return over

    def _flush_later(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # with the next line of any kind, or when the process ends
        loop.call_later(LOG_WINDOW_SECONDS, self._flush_over)

    def _flush_over(self) -> None:
        with self._lock:
            over = self._take_over(self._clock())
        self._say(over)

    def _say(self, windows: dict[Kind, _Window]) -> None:
        for (_, *of), window in windows.items():
            if not window.left_out:
                continue
            facts = {"count": window.left_out, "seconds": LOG_WINDOW_SECONDS, "of": ": ".join(of)}
            if window.level == "info":
                log.info("lines_left_out", **facts)
            elif window.level == "warning":
                log.warning("lines_left_out", **facts)
            else:
                log.error("lines_left_out", **facts)


GATE: Final = FloodGate()
