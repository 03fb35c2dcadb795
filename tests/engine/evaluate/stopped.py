"""The process of heavy expressions, held still: whoever needs it waits."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from windlass.engine.evaluate import evaluator
from windlass.engine.executions.decide_apart import EVALUATOR
from windlass.model.expression.evaluation import Check, raw

QUESTION = msgspec.json.encode(Check(schema=raw({"type": "object"}), value=raw([1])))
ANSWER = b'[["","must be an object"]]'


@asynccontextmanager
async def stopped_evaluator() -> AsyncIterator[int]:
    """Its pid. It goes on at the end; nobody gives it up before."""
    await EVALUATOR.ask(QUESTION)
    pid = EVALUATOR.pid
    assert pid is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluator, "EVALUATION_SECONDS", 600.0)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield pid
        finally:
            os.kill(pid, signal.SIGCONT)
