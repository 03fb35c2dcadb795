"""The OpenID provider of tests, started as a process of its own, and told how to be."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import aiohttp

from tests.api.identity.sign_on.provider_process import CLIENT_ID, CLIENT_SECRET, PUBLIC_URL
from windlass.config import Settings


@dataclass(slots=True, kw_only=True)
class ProviderProcess:
    issuer: str
    process: asyncio.subprocess.Process
    client: aiohttp.ClientSession

    async def order(self, **orders: Any) -> None:
        """What the next logins are to be like; see `Orders`."""
        async with self.client.post(f"{self.issuer}/order", json=orders) as answer:
            assert answer.status == 200, await answer.text()

    async def seen(self, path: str) -> list[dict[str, Any]]:
        """What it was asked there since the last order."""
        async with self.client.get(f"{self.issuer}/seen") as answer:
            return [one for one in await answer.json() if one["path"] == path]

    def settings(self, **others: Any) -> Settings:
        """Of a node that logs people in through it."""
        usual = Settings(
            public_url=PUBLIC_URL,
            oidc_issuer=self.issuer,
            oidc_client_id=CLIENT_ID,
            oidc_client_secret=CLIENT_SECRET,
            oidc_role_claim="groups",
            oidc_roles=("bosses=admin", "ops=operator", "staff=viewer"),
            oidc_name="Example",
        )
        return replace(usual, **others)


@contextlib.asynccontextmanager
async def provider_process() -> AsyncIterator[ProviderProcess]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.api.identity.sign_on.provider_process"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60), aiohttp.ClientSession() as client:
            issuer = (await process.stdout.readline()).decode().strip()
            assert issuer, "the provider did not start"
        async with aiohttp.ClientSession() as client:
            yield ProviderProcess(issuer=issuer, process=process, client=client)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
