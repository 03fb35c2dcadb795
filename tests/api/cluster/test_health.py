"""Health and metrics, also on a bad day."""

from __future__ import annotations

import asyncio

import pytest

from tests.api.acting_node import ActingNode
from tests.api.conftest import Serve
from tests.api.served import Served, serve
from tests.as_node_role import by_hand
from tests.engine.hands import sql
from windlass.config import Settings
from windlass.engine.doctor.doctor import doctor
from windlass.engine.jobs.retain import retain
from windlass.limits import METRIC_QUEUES_MAX
from windlass.store.migrate import migrate
from windlass.testing.servers import PrivateServers

pytestmark = pytest.mark.usefixtures("patient_probes")


async def test_a_node_that_is_well_says_so(api: Served) -> None:
    await api.submit()
    health = await api.get("/health")
    assert health["status"] == "ok"
    assert health["degraded"] == []
    assert health["queue_size"] == 1
    assert health["node_id"] == f"node_{api.facts.node_id.hex}"
    assert health["database"]["ok"]
    assert health["redis"]["ms"] >= 0
    assert (await api.get("/health/ready"))["status"] == "ok"
    assert (await api.get("/health/live")) == {"status": "ok"}


async def test_a_node_that_cannot_sign_says_so_and_takes_no_webhooks(
    serve_with: Serve,
) -> None:
    keyless = await serve_with(Settings(auth="off"), is_keyless=True)
    health = await keyless.get("/health")
    assert (health["status"], health["degraded"]) == ("degraded", ["signing_off"])
    hook = {"kind": "http", "input": {"url": "https://shop.example/"}}
    again = {"Idempotency-Key": "k"}
    for path, body in (("/v1/jobs", hook), ("/v1/jobs/batch", {"jobs": [{"kind": "noop"}, hook]})):
        refused = await keyless.post(path, body, 409, headers=again)
        assert refused["code"] == "signing_unavailable"
        assert "WINDLASS_SECRET_KEY" in refused["detail"]
        assert "openssl rand -base64 32" in refused["detail"]
    assert (await keyless.get("/v1/jobs"))["data"] == []
    await keyless.submit()
    switched_off = await serve_with(Settings(auth="off", sign_webhooks="off"), is_keyless=True)
    assert (await switched_off.get("/health"))["degraded"] == []
    # The refusal has taken no key.
    await switched_off.post("/v1/jobs", hook, 201, headers=again)


async def test_a_draining_node_is_not_ready_and_yet_alive(api: Served) -> None:
    api.facts.is_draining = True
    assert (await api.get("/health/ready", 503))["is_draining"]
    await api.get("/health/live")


async def test_redis_and_then_postgresql_go_away_and_come_back() -> None:
    async with PrivateServers() as servers:
        url = servers.database_url
        await migrate(url)
        async with serve(url, servers.redis_url, Settings()) as api:
            await api.get("/v1/jobs")
            await servers.kill_valkey()
            health = await api.get("/health")
            assert (health["status"], health["degraded"]) == ("degraded", ["redis"])
            assert not health["redis"]["ok"]
            await api.submit()

            await servers.kill_postgres()
            health = await api.get("/health", 503)
            assert (health["status"], health["degraded"]) == ("down", ["database", "redis"])
            await api.get("/health/ready", 503)
            await api.get("/health/live")
            async with api.client.get(api.url + "/v1/stats") as answer:
                assert answer.status == 503
                assert int(answer.headers["Retry-After"]) >= 1
                assert (await answer.json(content_type=None))["code"] == "unavailable"

            await servers.restart_postgres()
            await _until_ready(api)
            assert (await api.get("/v1/stats"))["totals"]["queued"] == 1


async def _until_ready(api: Served) -> None:
    async with asyncio.timeout(60):
        while True:
            async with api.client.get(api.url + "/health/ready") as answer:
                if answer.status == 200:
                    return


async def test_a_history_without_days_to_come_is_told_by_health_and_doctor(
    api: Served,
) -> None:
    async with by_hand(api.database) as connection:
        day = await connection.fetchval("SELECT to_char(now() + interval '2 days', 'YYYYMMDD')")
        await connection.execute(f"DROP TABLE windlass.attempt_{day}")
    health = await api.get("/health")
    assert (health["status"], health["degraded"]) == ("degraded", ["partitions"])
    assert dict((await doctor(api.database)).counts) == {"partitions": 1}
    await retain(api.database, 14)
    assert (await api.get("/health"))["status"] == "ok"


async def test_metrics_tell_how_many_schedules_are_silent(
    api: Served,
) -> None:
    async def silent() -> str:
        async with api.client.get(api.url + "/metrics") as answer:
            text = await answer.text()
        return next(line for line in text.splitlines() if line.startswith("windlass_schedule_s"))

    await api.post("/v1/schedules", {"name": "s", "cron": "@daily", "job": {"kind": "noop"}}, 201)
    assert await silent() == "windlass_schedule_silent 0.0"
    await sql(api.database, "UPDATE windlass.schedule SET fire_at = now() - interval '5 minutes'")
    assert await silent() == "windlass_schedule_silent 1.0"


async def test_metrics_tell_how_full_the_queues_are(api: Served, node: ActingNode) -> None:
    await api.submit(queue="mail")
    await api.submit(queue="mail", delay="1h")
    assert len(await node.claim()) == 1
    async with api.client.get(api.url + "/metrics") as answer:
        assert answer.content_type == "text/plain"
        lines = (await answer.text()).splitlines()
    assert 'windlass_queue_depth{queue="mail",state="queued"} 1.0' in lines
    assert 'windlass_queue_depth{queue="mail",state="running"} 1.0' in lines


async def test_metrics_name_only_so_many_queues(api: Served) -> None:
    many = METRIC_QUEUES_MAX + 20
    jobs = [{"kind": "noop", "queue": f"q{n}"} for n in range(many)] + [
        {"kind": "noop", "queue": "full"} for _ in range(5)
    ]
    await api.post("/v1/jobs/batch", {"jobs": jobs}, 201)
    async with api.client.get(api.url + "/metrics") as answer:
        lines = (await answer.text()).splitlines()
    queued = [li for li in lines if li.startswith("windlass_queue_depth") and '"queued"' in li]
    assert len(queued) == METRIC_QUEUES_MAX + 1
    assert 'windlass_queue_depth{queue="full",state="queued"} 5.0' in queued
    assert 'windlass_queue_depth{queue="other",state="queued"} 21.0' in queued


async def test_stats_add_up_queues_by_state(api: Served, node: ActingNode) -> None:
    await api.submit(queue="a", input={"n": 1})
    await node.run()
    await api.submit(queue="b")
    stats = await api.get("/v1/stats")
    assert (stats["totals"]["succeeded"], stats["totals"]["queued"]) == (1, 1)
    assert stats["queues"]["a"]["succeeded"] == 1
    assert stats["bytes"] == 2


async def test_nodes_are_shown_with_the_age_of_their_beat(api: Served, node: ActingNode) -> None:
    [shown] = (await api.get("/v1/nodes"))["data"]
    assert shown["id"] == f"node_{node.node_id.hex}"
    assert (shown["state"], shown["workers"]) == ("active", 4)
    read = await api.get(f"/v1/nodes/{shown['id']}")
    assert read.keys() == shown.keys()
    await api.get("/v1/nodes/node_" + "0" * 32, 404)
