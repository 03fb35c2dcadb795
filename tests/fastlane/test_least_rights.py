"""The fast lane under the user of deploy/redis/windlass.acl, and under one that may do less."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any, Final

import pytest
from redis.asyncio import Redis
from redis.exceptions import NoPermissionError
from structlog.testing import capture_logs

from tests import as_node_role
from tests.fastlane.conftest import say, started
from tests.ports import free_port
from tests.until import until
from windlass.embedded.valkey import EmbeddedValkey
from windlass.fastlane import keys
from windlass.fastlane import lane as lane_module
from windlass.fastlane.connect import client_of, close_client
from windlass.fastlane.coordinator import Coordinators
from windlass.fastlane.lane import FastLane, LaneDown
from windlass.fastlane.marks import Marks
from windlass.fastlane.shared_cache import SharedCache
from windlass.fastlane.sweep import say_swept, sweep
from windlass.fastlane.target_failures import TargetFailures
from windlass.fastlane.target_rate import TargetRateLimit
from windlass.telemetry.outage import REDIS

NODE: Final = "node_" + "0" * 32
QUOTED: Final = re.compile(r"""['"]([A-Z]{3,})['"]""")


@pytest.fixture(scope="module", params=["one server", "a Cluster"])
async def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[EmbeddedValkey]:
    settings = as_node_role.valkey_settings()
    if request.param == "a Cluster":
        settings |= {"cluster-enabled": "yes", "cluster-port": str(free_port())}
    opened = await started(tmp_path_factory.mktemp("valkey"), settings)
    if request.param == "a Cluster":
        await say(opened, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)

        async def is_ok() -> bool:
            return b"cluster_state:ok" in await say(opened, "CLUSTER", "INFO")

        await until(is_ok, what="the cluster is formed")
    yield opened
    await opened.stop(at_once=True)


@pytest.fixture
async def alone(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedValkey]:
    folder = tmp_path_factory.mktemp("valkey")
    opened = await started(folder, as_node_role.valkey_settings())
    yield opened
    await opened.stop(at_once=True)


def url_of(server: EmbeddedValkey) -> str:
    scheme = "redis+cluster" if "cluster-enabled" in server.settings else "redis"
    return as_node_role.redis_url(f"{scheme}://{server.listen}")


def granted() -> set[str]:
    return {word[1:] for word in as_node_role.ACL.read_text().split() if word.startswith("+")}


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[FastLane]:
    lane = FastLane(url)
    await lane.open()
    try:
        yield lane
    finally:
        await lane.close()


async def test_the_example_grants_every_command_that_our_scripts_call(
    server: EmbeddedValkey,
) -> None:
    """Whatever word of theirs is a command."""
    admin: Any = Redis.from_url(server.url())
    async with admin:
        known = {name.decode().upper() for name in await admin.command_list()}
    scripts = files("windlass.fastlane") / "lua"
    called = {
        word.lower()
        for script in scripts.iterdir()
        for word in QUOTED.findall(script.read_text())
        if word in known
    }
    assert {"zmscore", "zrange"} <= called
    assert called - {word.partition("|")[0] for word in granted()} == set()


async def test_the_example_grants_nothing_that_is_dangerous(server: EmbeddedValkey) -> None:
    dangerous = {name.decode() for name in await say(server, "ACL", "CAT", "dangerous")}
    admin = {name.decode() for name in await say(server, "ACL", "CAT", "admin")}
    assert granted() & (dangerous | admin) == set()
    user: Any = Redis.from_url(as_node_role.redis_url(f"redis://{server.listen}"))
    async with user as client:
        for words in (
            *(("SET", "other:key", "1"), ("GET", "other:key"), ("PUBLISH", "other", "1")),
            *(("FLUSHALL",), ("CONFIG", "GET", "*"), ("KEYS", "*"), ("ACL", "LIST"), ("INFO",)),
            *(("EVAL", "return redis.call('SET', 'other:key', '1')", 0), ("CLIENT", "LIST")),
        ):
            with pytest.raises(Exception, match=r"permission|ACL failure") as refused:
                await client.execute_command(*words)
            assert isinstance(refused.value, NoPermissionError) or words[0] == "EVAL"
    await say(server, "ACL", "LOG", "RESET")


async def test_everything_that_a_node_does_is_allowed(server: EmbeddedValkey) -> None:
    await say(server, "ACL", "LOG", "RESET")
    async with opened(url_of(server)) as lane:
        heard: list[bytes] = []
        lane.on_message(keys.WAKE, heard.append)
        await until(lambda: lane.is_up, what="the lane is up")
        coordinators = Coordinators(lane, b"scope")
        await coordinators.see_whose()
        now_ms, _ = await coordinators.beat(NODE, is_renewal=False)
        await coordinators.say(NODE, now_ms, {"jobs": 1})
        cache = SharedCache(lane, "rights", 60, b"scope")
        seen = await cache.look(["one"])
        await cache.put({"one": b"1"}, seen)
        assert (await cache.look(["one"]))["one"].payload == b"1"
        await cache.mark(["one"])
        await cache.mark_all()
        marks = Marks(lane)
        await marks.sizes()
        await marks.acknowledge({1: [b"one"]})
        await TargetFailures(lane).note("host", 1)
        TargetFailures(lane).forget("host")
        await TargetRateLimit(lane).take("host", 5.0, 2, 1)
        lane.publish(keys.WAKE, b"{}")
        await until(lambda: heard, what="what was published is heard")
        assert await lane.ping_seconds() is not None
        client = client_of(url_of(server))
        try:
            swept = await sweep(client, stale_seconds=0, is_scan=True)
            assert swept.mode == "scripted"
            await say_swept(client)
        finally:
            await close_client(client)
        assert await coordinators.leave(NODE)
        assert lane.is_up
    assert await say(server, "ACL", "LOG") == []


async def test_a_right_that_lacks_takes_the_lane_down_and_is_said_once(
    alone: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_module, "DENIED_SECONDS", 0.3)
    await say(alone, "ACL", "SETUSER", as_node_role.REDIS_USER, "-eval", "-evalsha")
    REDIS.answered("")
    with capture_logs() as logs:
        async with opened(url_of(alone)) as lane:
            await until(lambda: lane.is_up, what="the lane is up")
            with pytest.raises(LaneDown, match="evalsha"):
                await Coordinators(lane, b"scope").beat(NODE, is_renewal=False)
            assert not lane.is_up
            await say(alone, "ACL", "SETUSER", as_node_role.REDIS_USER, "+eval", "+evalsha")
            await until(lambda: lane.is_up, what="it is tried again")
            await Coordinators(lane, b"scope").beat(NODE, is_renewal=False)
    [said] = [entry for entry in logs if entry["event"] == "redis_away"]
    assert said["reason"].startswith("its user lacks a right that a node needs: ")


@pytest.mark.parametrize("missing", ["-publish", "-zadd", "resetchannels", "resetkeys", "-getex"])
async def test_whatever_lacks_there_is_only_no_lane(
    alone: EmbeddedValkey, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_module, "DENIED_SECONDS", 600.0)
    await say(alone, "ACL", "SETUSER", as_node_role.REDIS_USER, missing)
    async with opened(url_of(alone)) as lane:

        async def is_down() -> bool:
            lane.publish(keys.WAKE, b"{}")
            coordinators, cache = (
                Coordinators(lane, b"scope"),
                SharedCache(lane, "rights", 60, b"s"),
            )
            try:
                now_ms, _ = await coordinators.beat(NODE, is_renewal=False)
                await coordinators.say(NODE, now_ms, {})
                await cache.look(["one"])
            except LaneDown:
                pass
            return lane._denied is not None and not lane.is_up

        await until(is_down, what="the lane is down")


async def test_a_wrong_password_is_said_in_a_sentence(alone: EmbeddedValkey) -> None:
    REDIS.answered("")
    with capture_logs() as logs:
        async with opened(url_of(alone).replace(as_node_role.PASSWORD, "wrong")):
            await until(
                lambda: any(one["event"] == "redis_away" for one in logs), what="it is said"
            )
    [said] = [entry for entry in logs if entry["event"] == "redis_away"]
    assert "invalid username-password pair" in said["reason"].lower()
    assert "wrong" not in str(logs)


async def test_a_value_of_another_user_is_not_ours(alone: EmbeddedValkey) -> None:
    admin: Any = Redis.from_url(alone.url())
    async with admin:
        await admin.set("shop:basket", "1")
        client = client_of(url_of(alone))
        with pytest.raises(NoPermissionError):
            await client.get("shop:basket")
        await close_client(client)
