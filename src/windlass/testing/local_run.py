"""One stage for a whole run of tests, emptied for each of them."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from datetime import datetime
from typing import Final

import structlog

from windlass.sdk.tasks.app import App
from windlass.testing.local import Local, LocalMaker, instant_of
from windlass.testing.local_calls import Calls
from windlass.testing.local_stage import Stage


class _Holder:
    """Where the process keeps its stage."""

    def __init__(self) -> None:
        self.stage: Stage | None = None
        self.turn = threading.Lock()  # there is one clock, so there is one test at a time

    def get(self) -> Stage:
        if self.stage is None:
            self.stage = Stage.start()
        return self.stage

    def close(self) -> None:
        stage, self.stage = self.stage, None
        if stage is not None:
            stage.stop()


_HOLDER: Final = _Holder()


@contextlib.contextmanager
def one_test() -> Iterator[LocalMaker]:
    """Everything is empty when it begins, and disconnected when it ends."""
    with _HOLDER.turn, _quiet_logs():
        stage = _HOLDER.get()
        stage.run(stage.reset())
        calls, apps = Calls(), list[App]()

        def make(app: App, *, at: datetime | str | None = None) -> Local:
            apps.append(app)
            stage.run(stage.set_out(app, calls, instant_of(at)))
            if app.workflows or app.durables or app.schedules:
                app.publish_now()
            return Local(app, stage, calls)

        try:
            yield make
        finally:
            is_clear = stage.run(stage.clear_up())
            # Not before: what still ran would have gone wherever the App goes otherwise.
            for app in apps:
                app.connect(None)
                for task in app.tasks.values():
                    task.stand_in = None
            if not is_clear:
                _HOLDER.close()  # something runs that cannot be stopped; the next test starts anew


def close() -> None:
    with _quiet_logs():
        _HOLDER.close()


@contextlib.contextmanager
def _quiet_logs() -> Iterator[None]:
    """A node tells much that is no news in a test; whoever has configured logs wants them so."""
    if structlog.is_configured():
        yield
        return
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    try:
        yield
    finally:
        structlog.reset_defaults()
