"""/v1/system: the sweep over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio import Redis

from tests.api.conftest import Serve
from tests.api.served import Served
from tests.fastlane.coordinators import owned, put
from windlass.config import Settings
from windlass.testing.servers import PrivateServers

PATH = "/v1/system/sweep"


@pytest.fixture
async def redis(servers: PrivateServers, database_url: str) -> Any:
    async with Redis.from_url(servers.redis_of(database_url)) as client:
        yield client


async def test_a_sweep_removes_the_dead_and_reports(api: Served, redis: Any) -> None:
    await put(redis, "dead")
    await put(redis, "alive", age_ms=0)
    dry = await api.post(PATH, {"stale_after": "10m", "dry_run": True})
    real = await api.post(PATH, {"stale_after": 600})
    counts = {"checked": 2, "stale": 1, "removed_keys": 6, "kept": 1, "skipped": 0}
    for told, is_dry in ((dry, True), (real, False)):
        assert {name: told[name] for name in counts} == counts
        assert (told["stale_ids"], told["dry_run"], told["mode"]) == (["dead"], is_dry, "scripted")
        assert told["ms"] > 0
    assert (await owned(redis, "dead"), len(await owned(redis, "alive"))) == (set(), 6)
    assert (await api.post(PATH, {}))["stale"] == 0


async def test_keys_that_no_index_names_are_found_when_asked_for(api: Served, redis: Any) -> None:
    await put(redis, "c-1", is_indexed=False)
    assert (await api.post(PATH, {}))["stale_ids"] == []
    assert (await api.post(PATH, {"scan": True}))["stale_ids"] == ["c-1"]


@pytest.mark.parametrize(
    ("body", "pointer", "said"),
    [
        ([], "", "must be an object"),
        ({"stale_after": 5}, "/stale_after", "at least 12 (3 heartbeats)"),
        ({"stale_after": -1}, "/stale_after", "0 or more"),
        ({"stale_after": "soon"}, "/stale_after", "is not a duration"),
        ({"stale_after": True}, "/stale_after", "is not a duration"),
        ({"dry_run": "yes"}, "/dry_run", "must be true or false"),
        ({"dryrun": True}, "/dryrun", "unknown field"),
    ],
)
async def test_what_cannot_be_meant_is_refused(
    door: Served, body: Any, pointer: str, said: str
) -> None:
    problem = await door.post(PATH, body, 422)
    [error] = problem["errors"]
    assert error["pointer"] == pointer
    assert said in error["detail"]


async def test_three_heartbeats_are_those_of_the_settings(serve_with: Serve) -> None:
    api = await serve_with(Settings(heartbeat_seconds=1.0))
    await api.post(PATH, {"stale_after": 3})
    await api.post(PATH, {"stale_after": 2.9}, 422)
