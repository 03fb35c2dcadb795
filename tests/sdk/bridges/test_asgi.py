"""Windlass inside web applications of other people."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest
from fastapi import FastAPI
from litestar import Litestar, asgi, get
from litestar.params import FromPath
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from tests.sdk.bridges.web import served
from windlass import App
from windlass.sdk.bridges.asgi import lifespan, mount
from windlass.testing.servers import PrivateServers

Build = Callable[[App, Any], Any]


def shop() -> App:
    app = App("shop")

    @app.task
    def double(number: int) -> int:
        return 2 * number

    @app.task
    def double_later(number: int) -> str:
        """Has no address and no key, and enqueues all the same."""
        return app.tasks["double"].enqueue(number).id

    return app


def fastapi(app: App, live: Any) -> FastAPI:
    web = FastAPI(lifespan=live)

    @web.get("/double/{number}")
    async def double(number: int) -> dict[str, Any]:
        return {"got": await (await app.tasks["double"].aenqueue(number))}

    web.mount("/windlass", mount(app))
    return web


def starlette(app: App, live: Any) -> Starlette:
    async def double(request: Request) -> JSONResponse:
        handle = await app.tasks["double"].aenqueue(request.path_params["number"])
        return JSONResponse({"got": await handle})

    routes = [Route("/double/{number:int}", double), Mount("/windlass", mount(app))]
    return Starlette(routes=routes, lifespan=live)


def litestar(app: App, live: Any) -> Litestar:
    @get("/double/{number:int}")
    async def double(number: FromPath[int]) -> dict[str, Any]:
        return {"got": await (await app.tasks["double"].aenqueue(number))}

    mounted = asgi("/windlass", is_mount=True, copy_scope=True)(mount(app))
    return Litestar([double, mounted], lifespan=[live], logging_config=None)


@pytest.mark.parametrize("build", [fastapi, starlette, litestar])
async def test_a_node_lives_in_the_web_application(
    build: Build,
    servers: PrivateServers,
    database_url: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = shop()
    live = lifespan(
        app, database_url=database_url, redis_url=servers.redis_of(database_url), workers=2
    )
    async with served(build(app, live)) as url, aiohttp.ClientSession(url) as caller:
        async with caller.get("/double/21") as answer:
            assert await answer.json() == {"got": 42}
        async with caller.get("/windlass/v1/jobs") as answer:
            assert answer.status == 401
        shown = re.search(r"wlk_\S{43}", capsys.readouterr().err)
        assert shown is not None
        key = {"Authorization": f"Bearer {shown[0]}"}
        async with caller.get("/windlass/v1/jobs?limit=1", headers=key) as answer:
            assert [job["kind"] for job in (await answer.json())["data"]] == ["python"]
        async with caller.get("/windlass/health/live") as answer:
            assert await answer.json() == {"status": "ok"}


async def test_a_task_enqueues_another_without_any_configuration(
    servers: PrivateServers, database_url: str
) -> None:
    app = shop()
    live = lifespan(
        app, database_url=database_url, redis_url=servers.redis_of(database_url), workers=2
    )
    async with live(None):
        first = await app.tasks["double_later"].aenqueue(4)
        second = await app.client.jobs.wait(await first, 30)
        assert second["result"] == 8


async def test_with_a_url_the_application_is_a_client(
    servers: PrivateServers, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    node, elsewhere = shop(), shop()
    live = lifespan(
        node, database_url=database_url, redis_url=servers.redis_of(database_url), workers=1
    )
    async with served(fastapi(node, live)) as url:
        shown = re.search(r"wlk_\S{43}", capsys.readouterr().err)
        assert shown is not None
        client = lifespan(elsewhere, url=f"{url}/windlass", token=shown[0])
        async with (
            served(fastapi(elsewhere, client)) as front,
            aiohttp.ClientSession(front) as caller,
        ):
            async with caller.get("/double/5") as answer:
                assert await answer.json() == {"got": 10}
            async with caller.get("/windlass/health/live") as answer:
                assert answer.status == 503
                assert "lifespan" in (await answer.json())["detail"]


async def test_a_node_that_cannot_start_keeps_the_application_from_starting() -> None:
    live = lifespan(shop(), database_url="postgres://nobody@127.0.0.1:1/none")
    with pytest.raises(Exception, match=r"(?i)connect"):
        async with live(None):
            pass
