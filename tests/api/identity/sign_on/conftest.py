"""An OpenID provider in a process of its own, and browsers that log in through it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest

from tests.api.conftest import Serve
from tests.api.identity.sign_on.browser import Browser
from tests.api.identity.sign_on.provider import ProviderProcess, provider_process
from tests.api.served import Served


@pytest.fixture(scope="session")
async def started_provider() -> AsyncIterator[ProviderProcess]:
    async with provider_process() as started:
        yield started


@pytest.fixture
async def provider(started_provider: ProviderProcess) -> ProviderProcess:
    """As one should be, until it is ordered otherwise."""
    await started_provider.order()
    return started_provider


@pytest.fixture
async def api(serve_with: Serve, provider: ProviderProcess) -> Served:
    return await serve_with(provider.settings())


@pytest.fixture
async def open_browser() -> AsyncIterator[Callable[[Served], Browser]]:
    browsers: list[Browser] = []

    def opened(api: Served) -> Browser:
        browsers.append(Browser(api.url))
        return browsers[-1]

    async with AsyncExitStack() as stack:
        yield opened
        for browser in browsers:
            await stack.enter_async_context(browser)


@pytest.fixture
async def browser(api: Served, open_browser: Callable[[Served], Browser]) -> Browser:
    return open_browser(api)
