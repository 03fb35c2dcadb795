"""The strategies under test, closed afterwards, and somebody to call."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.strategies.receiver import Receiver, listening
from windlass.strategies.egress import Egress
from windlass.strategies.http import Http
from windlass.strategies.python import Python
from windlass.strategies.task import load_tasks

ERRANDS = "tests.strategies.errands:app"


@pytest.fixture
async def python() -> AsyncIterator[Python]:
    strategy = Python(load_tasks(ERRANDS), ERRANDS)
    yield strategy
    await strategy.close()


@pytest.fixture
async def http() -> AsyncIterator[Http]:
    strategy = Http(egress=Egress(["127.0.0.0/8"]))
    yield strategy
    await strategy.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with listening() as made:
        yield made
