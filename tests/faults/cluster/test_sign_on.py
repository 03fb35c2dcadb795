"""A login through an identity provider outlives the node it was begun on, and the loss of Redis."""

from __future__ import annotations

import asyncio

from tests.api.identity.sign_on.browser import LOGIN, SESSION, Browser
from tests.api.identity.sign_on.provider import ProviderProcess, provider_process
from tests.api.identity.sign_on.provider_process import CLIENT_ID, CLIENT_SECRET, PUBLIC_URL
from tests.faults.nodes import NodeProcess
from tests.faults.real_cluster import Cluster
from tests.ports import free_port
from tests.until import until


async def start(cluster: Cluster, provider: ProviderProcess) -> NodeProcess:
    settings = {
        "WINDLASS_PORT": str(free_port()),
        "WINDLASS_PUBLIC_URL": PUBLIC_URL,
        "WINDLASS_OIDC_ISSUER": provider.issuer,
        "WINDLASS_OIDC_CLIENT_ID": CLIENT_ID,
        "WINDLASS_OIDC_CLIENT_SECRET": CLIENT_SECRET,
        "WINDLASS_OIDC_ROLE_CLAIM": "groups",
        "WINDLASS_OIDC_ROLES": "staff=viewer",
        "WINDLASS_LOG_LEVEL": "debug",
    }
    return await cluster.nodes.start(
        cluster.database.url, cluster.redis_url, roles="api", settings=settings
    )


async def test_a_login_outlives_the_node_that_it_was_begun_on(cluster: Cluster) -> None:
    async with provider_process() as provider:
        first, second = await asyncio.gather(start(cluster, provider), start(cluster, provider))
        async with Browser(first.url) as browser:
            back = await browser.visit_provider("/here")
            await first.kill()
            browser.node_url = second.url
            assert (await browser.get(back, is_sent=True)).location == f"{PUBLIC_URL}/here"
            third = await start(cluster, provider)
            browser.node_url = third.url
            assert (await browser.caller())["name"] == "ann"
            assert (await browser.get(back, is_sent=True)).code == "sign_on_expired"

            code = back.partition("code=")[2].partition("&")[0]
            state = back.partition("state=")[2].partition("&")[0]
            secrets = (
                code,
                state,
                CLIENT_SECRET,
                *(browser.cookies[c].value for c in (LOGIN, SESSION)),
            )
            for node in (first, second, third):
                assert not any(secret in node.log for secret in secrets), "a log is read by many"


async def test_who_loses_his_role_is_out_on_every_node_within_seconds(cluster: Cluster) -> None:
    async with provider_process() as provider:
        first, second = await asyncio.gather(start(cluster, provider), start(cluster, provider))
        async with Browser(first.url) as browser, Browser(second.url) as elsewhere:
            await browser.log_in()
            await browser.caller()
            await provider.order(claims={"groups": []})
            assert (await elsewhere.log_in()).status == 403

            async def is_out() -> bool:
                return (await browser.get("/v1/session")).status == 401

            await until(is_out, what="the session of before has ended", within_seconds=10)
