"""`windlass sweep`: what it says, and the code it ends with. It needs a Redis and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from tests.fastlane.coordinators import put
from tests.ports import free_port
from windlass.testing.servers import PrivateServers

FIELDS = "checked stale removed_keys kept skipped ms per_second stale_ids dry_run mode"


class Sweeping:
    """The command in a process of its own, with nothing set but where Redis is."""

    def __init__(self, folder: Path, url: str | None) -> None:
        self.folder, self.url = folder, url

    async def __call__(self, *words: str, url: str | None = None) -> Any:
        kept = {name: text for name, text in os.environ.items() if not name.startswith("WINDLASS_")}
        address = url or self.url
        added = {} if address is None else {"WINDLASS_REDIS_URL": address}
        return await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "windlass", "sweep", *words],
            cwd=self.folder,
            env={**kept, **added},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
async def redis(servers: PrivateServers) -> Any:
    async with Redis.from_url(servers.redis_url) as client:
        await client.flushall()
        yield client
        await client.flushall()  # others sweep too, and one of these left what nobody can sweep


@pytest.fixture
def sweeping(servers: PrivateServers, tmp_path: Path) -> Sweeping:
    return Sweeping(tmp_path, servers.redis_url)


async def test_it_reports_in_the_fields_of_the_contract(redis: Any, sweeping: Sweeping) -> None:
    await put(redis, "c-1", "c-2")
    await put(redis, "c-10", age_ms=0)
    await put(redis, "odd", beat=b"no beat")
    dry = await sweeping("--stale-after", "600", "--dry-run", "--json")
    real = await sweeping("--stale-after", "10m", "--json")
    assert (dry.returncode, real.returncode) == (0, 0), real.stderr
    told = json.loads(real.stdout)
    assert " ".join(told) == FIELDS
    shown = {name: told[name] for name in ("checked", "stale", "removed_keys", "kept", "skipped")}
    assert shown == {"checked": 4, "stale": 2, "removed_keys": 12, "kept": 1, "skipped": 1}
    assert (sorted(told["stale_ids"]), told["dry_run"]) == (["c-1", "c-2"], False)
    assert told["mode"] == "scripted"
    assert told["ms"] > 0
    assert told["per_second"] > 0
    before = json.loads(dry.stdout)
    assert before["dry_run"] is True
    assert {name: before[name] for name in shown} == shown


async def test_it_tells_people_who_went_and_who_would(redis: Any, sweeping: Sweeping) -> None:
    await put(redis, "c-1", is_indexed=False)
    nothing = await sweeping()
    assert nothing.stdout.startswith("removed 0 keys of 0 dead; kept 0, skipped 0")
    dry = await sweeping("--scan", "--dry-run")
    assert dry.stdout.startswith("would go: c-1\nwould remove 5 keys of 1 dead")
    real = await sweeping("--scan")
    assert real.stdout.startswith("went: c-1\nremoved 5 keys of 1 dead")
    assert await redis.dbsize() == 0


async def test_a_redis_that_is_not_there_is_exit_code_1(sweeping: Sweeping) -> None:
    ended = await sweeping("--json", url=f"redis://127.0.0.1:{free_port()}")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: Redis cannot be reached")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--stale-after", "11.9"], "at least 12 (3 heartbeats)"),
        (["--stale-after", "0"], "at least 12"),
        (["--stale-after", "-5"], "is not seconds"),
        (["--stale-after", "soon"], "'soon' is not seconds"),
        (["--stale-after", "99999999999"], "is not seconds"),
        (["--nonsense"], "--nonsense"),
    ],
)
async def test_what_would_sweep_the_living_away_is_refused(
    sweeping: Sweeping, words: list[str], said: str
) -> None:
    ended = await sweeping(*words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr


async def test_three_heartbeats_are_enough(redis: Any, sweeping: Sweeping) -> None:
    ended = await sweeping("--stale-after", "12")
    assert ended.returncode == 0


async def test_no_address_and_a_redis_that_refuses_are_exit_code_2(
    redis: Any, sweeping: Sweeping, tmp_path: Path
) -> None:
    without = await Sweeping(tmp_path, None)()
    assert (without.returncode, "WINDLASS_REDIS_URL" in without.stderr) == (2, True)
    await redis.set("windlass:coord:beats", "no set of beats")
    wrong = await sweeping()
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: Redis refused a part of the sweep: ")
