"""The loops we may run on: a node's own is uvloop, that of a program around it may be any."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest
import uvloop

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}
TEST_SECONDS_MAX = 30


def on_both_loops(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is run twice, each time on a fresh loop."""

    @wraps(test)
    def on_a_loop(loop: str, **given: Any) -> None:
        runner = asyncio.Runner(loop_factory=LOOPS[loop])
        try:
            runner.run(asyncio.wait_for(test(**given), TEST_SECONDS_MAX))
        finally:
            unclosed = _close(runner)
        assert not unclosed, [str(warning.message) for warning in unclosed]

    made = inspect.signature(test)
    loop = inspect.Parameter("loop", inspect.Parameter.KEYWORD_ONLY)
    on_a_loop.__signature__ = made.replace(  # type: ignore[attr-defined]
        parameters=[*made.parameters.values(), loop]
    )
    twice: Callable[..., None] = pytest.mark.parametrize("loop", LOOPS)(on_a_loop)
    return twice


def _close(runner: asyncio.Runner) -> list[warnings.WarningMessage]:
    """What the test left open is told by whoever closes the loop, and as an error it would be an
    error within uvloop, which then does not close it and waits for it without an end: a test that
    fails would be a run that hangs.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        runner.close()
    return told
