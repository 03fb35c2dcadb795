"""The loops we may run on: a node's own is uvloop, that of a program around it may be any."""

from __future__ import annotations

import asyncio
import inspect
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
        with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
            runner.run(asyncio.wait_for(test(**given), TEST_SECONDS_MAX))

    made = inspect.signature(test)
    loop = inspect.Parameter("loop", inspect.Parameter.KEYWORD_ONLY)
    on_a_loop.__signature__ = made.replace(  # type: ignore[attr-defined]
        parameters=[*made.parameters.values(), loop]
    )
    twice: Callable[..., None] = pytest.mark.parametrize("loop", LOOPS)(on_a_loop)
    return twice
