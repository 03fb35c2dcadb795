"""Kinds that plugins bring, on a real node: accepted, performed, replaced without a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.door import Door, open_door
from tests.faults.real_cluster import Cluster, open_cluster
from tests.runtime.worker.installed import SMS, Installed
from tests.until import until
from windlass import ids
from windlass.testing.servers import PrivateServers

BROKEN = "raise RuntimeError('half written')"


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path / "installed")


@pytest.fixture
async def cluster(
    servers: PrivateServers, database_url: str, tmp_path: Path
) -> AsyncIterator[Cluster]:
    async with open_cluster(database_url, servers.redis_of(database_url), tmp_path) as opened:
        yield opened


async def run(door: Door, kind: str, given: dict[str, Any], *, tries: int = 1) -> dict[str, Any]:
    """The job as it ended."""
    job = {"kind": kind, "input": given, "retry": {"max_attempts": tries}}
    made = await door.call("POST", "/v1/jobs", 201, job)
    ended: dict[str, Any] = await door.call("GET", f"/v1/jobs/{made['id']}?wait=30s", 200)
    return ended


async def reload(door: Door) -> dict[str, Any]:
    """What the one node answered."""
    signal = {"targets": "all", "name": "reload", "wait": "20s"}
    told = await door.call("POST", "/v1/signals", 200, signal)
    [answer] = told["answers"].values()
    found: dict[str, Any] = answer
    return found


async def strategies(door: Door) -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in await door.call("GET", "/v1/strategies", 200)}


async def test_a_plugin_is_performed_and_replaced_while_the_node_runs(
    cluster: Cluster, installed: Installed
) -> None:
    installed.distribution("acme_sms", "1.2.3", {"sms": "acme_sms:Sms"})
    installed.module("acme_sms.py", SMS % "to")
    async with open_door(cluster, roles="api,worker", PYTHONPATH=str(installed.folder)) as door:
        ended = await run(door, "sms", {"to": "Ada"})
        assert (ended["state"], ended["result"]) == ("succeeded", "to Ada")
        told = (await strategies(door))["sms"]
        assert (told["is_builtin"], told["version"], told["error"]) == (False, "1.2.3", None)
        assert told["input_schema"]["required"] == ["to"]

        installed.module("acme_sms.py", SMS % "at")  # as long as before, within the second
        assert (await run(door, "sms", {"to": "Ada"}))["result"] == "to Ada"
        answer = await reload(door)
        assert answer["kinds"] == ["http", "noop", "python", "sms", "wait"]
        assert (answer["added"], answer["changed"], answer["errors"]) == ([], ["sms"], {})
        assert (await run(door, "sms", {"to": "Ada"}))["result"] == "at Ada"

        installed.distribution("acme_fax", "0.1", {"fax": "acme_fax.deep:Fax"})
        installed.module("acme_fax/__init__.py", "")
        installed.module("acme_fax/deep.py", SMS.replace("Sms", "Fax") % "fax to")
        assert (await reload(door))["added"] == ["fax"]
        assert (await run(door, "fax", {"to": "Ada"}))["result"] == "fax to Ada"
        [row] = await cluster.fetch("SELECT kinds FROM windlass.node WHERE state = 'active'")
        assert row["kinds"] == ["fax", "http", "noop", "python", "sms", "wait"]

        (installed.folder / "acme_fax.dist-info" / "entry_points.txt").write_text("")
        assert (await reload(door))["removed"] == ["fax"]
        await door.call("POST", "/v1/jobs", 422, {"kind": "fax", "input": {"to": "Ada"}})


async def test_an_attempt_under_way_ends_with_the_code_that_it_began_with(
    cluster: Cluster, installed: Installed, tmp_path: Path
) -> None:
    slow = """
        import asyncio, json
        from pathlib import Path
        from windlass.model.job.outcome import Succeeded

        SAYS = "%s"
        HERE = Path("%s")

        class Slow:
            async def perform(self, attempt):
                (HERE / "begun").touch()
                while not (HERE / "go").exists():
                    await asyncio.sleep(0.01)
                return Succeeded(json.dumps(SAYS).encode())

            def close(self):
                (HERE / ("closed " + SAYS)).touch()
    """
    installed.distribution("acme_slow", "1", {"slow": "acme_slow:Slow"})
    installed.module("acme_slow.py", slow % ("old", tmp_path))
    async with open_door(cluster, roles="api,worker", PYTHONPATH=str(installed.folder)) as door:
        made = await door.call("POST", "/v1/jobs", 201, {"kind": "slow"})

        async def has_begun() -> bool:
            return (tmp_path / "begun").exists()

        await until(has_begun, what="the attempt runs")
        installed.module("acme_slow.py", slow % ("new", tmp_path))
        assert (await reload(door))["changed"] == ["slow"]
        assert not (tmp_path / "closed old").exists(), "it is still needed"
        (tmp_path / "go").touch()
        ended = await door.call("GET", f"/v1/jobs/{made['id']}?wait=30s", 200)
        assert ended["result"] == "old"

        async def is_closed() -> bool:
            return (tmp_path / "closed old").exists()

        await until(is_closed, what="the old strategy is closed after its last attempt")
        assert (await run(door, "slow", {}))["result"] == "new"


async def test_a_broken_plugin_is_reported_and_stands_in_nobodys_way(
    cluster: Cluster, installed: Installed
) -> None:
    installed.distribution("acme_sms", "1", {"sms": "acme_sms:Sms", "torn": "acme_torn:Torn"})
    installed.distribution("acme_thief", "1", {"http": "acme_sms:Sms", "map": "acme_sms:Sms"})
    installed.module("acme_sms.py", SMS % "to")
    installed.module("acme_torn.py", BROKEN)
    async with open_door(cluster, roles="api,worker", PYTHONPATH=str(installed.folder)) as door:
        told = await strategies(door)
        assert told["torn"]["error"] == "acme_torn:Torn: RuntimeError: half written"
        for kind in ("http", "map"):
            assert "is Windlass' own" in told[kind]["error"]
        refused = await door.call("POST", "/v1/jobs", 422, {"kind": "torn"})
        assert refused["errors"][0]["pointer"] == "/kind"
        assert (await run(door, "noop", {}))["state"] == "succeeded"

        installed.module("acme_sms.py", BROKEN)
        answer = await reload(door)
        assert answer["errors"].keys() == {"sms", "torn", "http", "map"}
        assert (await run(door, "sms", {"to": "Ada"}))["result"] == "to Ada", "the old one goes on"
        assert (await run(door, "http", {"url": "http://127.0.0.1:9"}))["state"] == "dead"
        assert "half written" in (await strategies(door))["sms"]["error"]

        listed = await door.call("GET", "/v1/strategies", 200)
        assert [one["is_builtin"] for one in listed if one["kind"] == "http"] == [True, False]

        installed.module("acme_torn.py", SMS.replace("Sms", "Torn") % "mended")
        assert (await reload(door))["added"] == ["torn"]
        assert (await run(door, "torn", {"to": "Ada"}))["result"] == "mended Ada"


async def test_the_door_asks_a_plugin_what_it_takes(cluster: Cluster, installed: Installed) -> None:
    installed.distribution("acme_sms", "1", {"sms": "acme_sms:Sms"})
    installed.module("acme_sms.py", SMS % "to")
    async with open_door(cluster, roles="api,worker", PYTHONPATH=str(installed.folder)) as door:
        for given, pointer in (
            ({}, "/input/to"),
            ({"to": 5}, "/input/to"),
            ({"to": "nobody"}, "/input/to"),
        ):
            refused = await door.call("POST", "/v1/jobs", 422, {"kind": "sms", "input": given})
            assert refused["errors"][0]["pointer"] == pointer
        [row] = await cluster.fetch(
            "SELECT windlass.enqueue($1::jsonb) AS id", '{"kind": "sms", "input": {"to": 5}}'
        )
        ended = await door.call("GET", f"/v1/jobs/{row['id']}?wait=30s", 200)
        assert (ended["state"], ended["error"]["cause"]) == ("dead", "invalid_input")


async def test_why_says_which_living_nodes_perform_a_kind(
    cluster: Cluster, installed: Installed
) -> None:
    installed.distribution("acme_sms", "1", {"sms": "acme_sms:Sms"})
    installed.module("acme_sms.py", SMS % "to")
    ignorant = await cluster.start_node()
    [row] = await cluster.fetch(
        "SELECT windlass.enqueue($1::jsonb) AS id",
        '{"kind": "sms", "input": {"to": "Ada"}}',
    )
    job_id = row["id"]
    async with open_door(cluster, roles="api", PYTHONPATH=str(installed.folder)) as door:
        why = await door.call("GET", f"/v1/jobs/{job_id}/why", 200)
        gate = next(gate for gate in why["gates"] if gate["gate"] == "unknown_kind")
        reason = "of 1 living nodes that take jobs none performs kind 'sms'"
        assert gate["reason"] == f"{reason}; start one that has its plugin"
        ignorant.terminate()
        await ignorant.ends()
        await cluster.start_node()
        able = await cluster.start_node(PYTHONPATH=str(installed.folder))
        ended = await door.call("GET", f"/v1/jobs/{job_id}?wait=30s", 200)
        assert (ended["state"], ended["attempt"]) == ("succeeded", 1)
        later = {"kind": "sms", "input": {"to": "Ada"}, "delay": "1h"}
        made = await door.call("POST", "/v1/jobs", 201, later)
        why = await door.call("GET", f"/v1/jobs/{made['id']}/why", 200)
        gate = next(gate for gate in why["gates"] if gate["gate"] == "kind_of_few")
        node = ids.show("node", able.node_id)
        assert gate["reason"] == f"of 2 living nodes that take jobs 1 performs kind 'sms': {node}"


async def test_an_outcome_that_nobody_can_read_ends_its_job_with_the_reason(
    cluster: Cluster, installed: Installed
) -> None:
    odd = """
        import json
        from windlass.model.job.outcome import Failed, Succeeded

        def nested():
            deep = []
            for _ in range(100_000):
                deep = [deep]
            return deep

        class Odd:
            async def perform(self, attempt):
                match json.loads(attempt.input)["gives"]:
                    case "text":
                        return Succeeded("text")
                    case "object":
                        return Succeeded({"sent": True})
                    case "nothing":
                        return Failed(None, None)
                    case "wish":
                        return Failed("busy", "later", retry_after_seconds="soon")
                    case "detail":
                        attempt.detail = {"deep": nested()}
                        return Succeeded(b"1")
    """
    installed.distribution("acme_odd", "1", {"odd": "acme_odd:Odd"})
    installed.module("acme_odd.py", odd)
    async with open_door(cluster, roles="api,worker", PYTHONPATH=str(installed.folder)) as door:
        for gives in ("text", "object", "nothing", "wish"):
            ended = await run(door, "odd", {"gives": gives}, tries=2)
            assert (ended["state"], ended["attempt"]) == ("dead", 1), gives
            assert ended["error"]["cause"] == "unsettled", gives
        assert (await run(door, "odd", {"gives": "detail"}))["state"] == "succeeded"
        assert await cluster.count("FROM windlass.event WHERE type = 'released'") == 0
