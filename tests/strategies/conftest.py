"""The strategies under test, closed afterwards, and somebody to call."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.strategies.drawer import Drawer
from tests.strategies.receiver import Receiver, listening
from tests.strategies.token_endpoint import SECRET, Endpoint
from windlass.strategies.auth import Credentials
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
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


@pytest.fixture
def drawer() -> Drawer:
    return Drawer(s=SECRET)


@pytest.fixture
async def credentials(session: aiohttp.ClientSession, drawer: Drawer) -> AsyncIterator[Credentials]:
    made = Credentials(drawer, lambda: session)
    yield made
    await made.close()
