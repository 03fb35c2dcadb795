"""What the code says is what the server has, and no more is done for it than needs be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any
from uuid import uuid4

import pytest

import windlass
from tests.sdk.conftest import Server
from tests.sdk.sample_app import add, shout
from windlass.errors import InvalidInput
from windlass.sdk.tasks.publish import NotOurs, Published

NOTHING = Published()


class Makes:
    """Apps of one name, as a deployment after another has them."""

    def __init__(self, server: Server, stack: AsyncExitStack) -> None:
        self._server, self._stack = server, stack
        self.name = f"pub-{uuid4().hex[:8]}"

    def __call__(self) -> windlass.App:
        app = windlass.App(self.name, url=self._server.url, token=self._server.token)
        self._stack.push_async_callback(app.client.close)
        return app

    def named(self, schedule: str) -> str:
        return f"{self.name}.{schedule}"


@pytest.fixture
async def make(server: Server) -> AsyncIterator[Makes]:
    async with AsyncExitStack() as stack:
        yield Makes(server, stack)


async def test_a_workflow_is_published_once_for_each_change(make: Makes) -> None:
    def deploy(word: str) -> windlass.App:
        app = make()

        @app.workflow(make.named("greet"))
        def greet(whom: str = "you") -> Any:
            return shout.step(f"{word} {whom}")

        return app

    name = make.named("greet")
    first = deploy("hello")
    assert await first.publish() == Published(workflows=[name])
    assert await first.publish() == await deploy("hello").publish() == NOTHING
    assert await deploy("bye").publish() == Published(workflows=[name])
    kept = await first.client.workflows.get(name)
    assert kept["version"] == 2
    assert kept["hash"] != first.workflows[name].hash


async def test_a_durable_function_is_a_workflow_like_any(make: Makes) -> None:
    app = make()

    @app.durable(name=make.named("slow"))
    async def slow(seconds: int) -> None: ...

    assert await app.publish() == Published(workflows=[make.named("slow")])
    assert await app.publish() == NOTHING


async def test_schedules_follow_the_code_and_are_never_deleted(make: Makes) -> None:
    name = make.named("digest")

    def deploy(**options: Any) -> windlass.App:
        app = make()
        app.cron("0 8 * * 1-5", timezone="Europe/Berlin", name=name, **options)(shout)
        return app

    app = deploy(args=["x"], jitter="30s", catchup="1h", misfire="skip", priority="high")
    assert await app.publish() == Published(schedules=[name])
    assert await app.publish() == NOTHING
    kept = await app.client.schedules.get(name)
    assert (kept["source"], kept["tags"], kept["edition"]) == ("app", [f"app:{make.name}"], 1)
    assert kept["job"]["input"] == {"task": "shout", "args": ["x"]}

    changed = deploy(args=["y"])
    assert await changed.publish() == Published(schedules=[name])
    assert (await app.client.schedules.get(name))["edition"] == 2

    assert await make().publish() == Published(paused=[name])
    assert await make().publish() == NOTHING
    paused = await app.client.schedules.get(name)
    assert (paused["state"], paused["note"]) == ("paused", f"no longer in app {make.name!r}")

    assert await changed.publish() == Published(resumed=[name])
    assert (await app.client.schedules.get(name))["state"] == "active"


async def test_what_a_person_paused_stays_paused(make: Makes) -> None:
    app, name = make(), make.named("digest")
    app.every("1h", name=name, args=[1, 2])(add)
    await app.publish()
    await app.client.schedules.pause(name, "stocktaking")
    app.schedules.clear()
    app.every("2h", name=name, args=[1, 2])(add)
    assert await app.publish() == Published(schedules=[name])
    assert await make().publish() == NOTHING
    kept = await app.client.schedules.get(name)
    assert (kept["state"], kept["note"], kept["every"]) == ("paused", "stocktaking", "2h")


async def test_many_nodes_may_start_at_once(make: Makes) -> None:
    def deploy() -> windlass.App:
        app = make()

        @app.every("1h", name=make.named("hourly"))
        @app.workflow(make.named("both"))
        def both() -> Any:
            return add.step(1, 2)

        return app

    apps = [deploy() for _ in range(6)]
    done = await asyncio.gather(*(app.publish() for app in apps))
    assert sum(len(one.schedules) for one in done) == 1
    kept = await apps[0].client.schedules.get(make.named("hourly"))
    assert (kept["edition"], kept["workflow"]["name"]) == (1, make.named("both"))
    assert (await apps[0].client.workflows.get(make.named("both")))["version"] == 1


async def test_a_schedule_of_somebody_else_is_left_alone(make: Makes) -> None:
    app, name = make(), make.named("taken")
    await app.client.schedules.put(name, {"every": "1h", "job": {"kind": "noop"}})
    app.every("2h", name=name, args=["x"])(shout)
    with pytest.raises(NotOurs, match="did not make; give that of the code another name="):
        await app.publish()
    assert (await app.client.schedules.get(name))["every"] == "1h"


async def test_a_mistake_in_the_code_is_told_before_anything_is_changed(make: Makes) -> None:
    app = make()

    @app.workflow(make.named("sound"))
    def sound() -> Any:
        return add.step(1, 2)

    @app.workflow(make.named("empty"))
    def empty() -> None: ...

    with pytest.raises(InvalidInput, match="/steps"):
        await app.publish()
    with pytest.raises(windlass.errors.NotFound):
        await app.client.workflows.get(make.named("sound"))


def test_code_that_does_not_await_publishes_too(server: Server) -> None:
    app = windlass.App(f"pub-{uuid4().hex[:8]}", url=server.url, token=server.token)
    assert app.publish_now() == NOTHING
