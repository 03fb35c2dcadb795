"""The strategies under test, closed afterwards, and somebody to call."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.strategies.drawer import Drawer
from tests.strategies.http.auth.token_endpoint import SECRET, Endpoint
from tests.strategies.receiver import Receiver, listening
from windlass.strategies.http.auth.auth import Credentials
from windlass.strategies.http.http import Http
from windlass.strategies.http.net.egress import Egress
from windlass.strategies.http.net.pool import Pool
from windlass.strategies.python.apps import load_tasks
from windlass.strategies.python.python import Python

ERRANDS = "tests.strategies.python.errands:app"


@pytest.fixture
async def python() -> AsyncIterator[Python]:
    strategy = Python(load_tasks(ERRANDS), ERRANDS)
    yield strategy
    await strategy.close()


@pytest.fixture
async def http() -> AsyncIterator[Http]:
    strategy = Http(egress=Egress(["127.0.0.0/8"]), vault=Drawer())
    yield strategy
    await strategy.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with listening() as made:
        yield made


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with listening() as receiver:
        made = Endpoint(receiver)
        yield made
        made.gate.set()


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    made = Pool(Egress(["127.0.0.0/8"]))
    yield made
    await made.close()


@pytest.fixture
def drawer() -> Drawer:
    return Drawer(s=SECRET)


@pytest.fixture
async def credentials(pool: Pool, drawer: Drawer) -> AsyncIterator[Credentials]:
    made = Credentials(drawer, lambda: pool)
    yield made
    await made.close()
