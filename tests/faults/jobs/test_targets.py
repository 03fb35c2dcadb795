"""Targets that die, come back, are slow or limited, with real nodes and real receivers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from aiohttp import web
from redis.asyncio import Redis

from tests.faults.check import faults_found
from tests.faults.job_objects import hook
from tests.faults.jobs.receiver import Delivery, dead_host, receiver, silent_host
from tests.faults.real_cluster import Cluster, open_cluster
from tests.until import until
from windlass.clock import monotonic
from windlass.engine.jobs.why import explain
from windlass.testing.servers import PrivateServers


@pytest.fixture(params=["with Redis", "without Redis"])
async def any_cluster(
    request: pytest.FixtureRequest, servers: PrivateServers, database_url: str, tmp_path: Path
) -> AsyncIterator[Cluster]:
    redis_url = servers.redis_of(database_url) if request.param == "with Redis" else None
    async with open_cluster(database_url, redis_url, tmp_path) as opened:
        yield opened


async def is_whole(cluster: Cluster) -> None:
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def breaker(cluster: Cluster, host: str) -> str:
    rows = await cluster.fetch("SELECT breaker FROM windlass.target WHERE host = $1", host)
    return rows[0]["breaker"] if rows else "closed"


async def until_breaker(cluster: Cluster, host: str, state: str) -> None:
    async def is_so() -> bool:
        return await breaker(cluster, host) == state

    await until(is_so, what=f"the breaker of {host} is {state}")


async def parked(cluster: Cluster, host: str) -> int:
    return await cluster.count(
        "FROM windlass.job WHERE target = $1 AND parked_at IS NOT NULL", host
    )


async def limit(cluster: Cluster, host: str, **columns: float) -> None:
    names = ", ".join(["host", *columns])
    parameters = ", ".join(f"${n}" for n in range(1, len(columns) + 2))
    await cluster.fetch(
        f"INSERT INTO windlass.target ({names}) VALUES ({parameters})", host, *columns.values()
    )


async def test_a_dead_host_parks_its_jobs_and_stands_in_nobodys_way(any_cluster: Cluster) -> None:
    cluster = any_cluster
    async with dead_host() as dead, receiver() as healthy:
        await cluster.start_node()
        await cluster.start_node()
        lost = await cluster.submit([hook(f"d{n}", dead.url()) for n in range(400)])
        await until_breaker(cluster, dead.host, "open")
        begun = dead.connections
        await cluster.submit([hook(f"h{n}", healthy.url()) for n in range(100)])
        await cluster.until_ended([f"h{n}" for n in range(100)])
        assert len(healthy.deliveries) == 100

        async def all_are_parked() -> bool:
            resting = await cluster.count("FROM windlass.job WHERE run_at > clock_timestamp()")
            return await parked(cluster, dead.host) + resting >= 399

        await until(all_are_parked, what="what cannot go is parked")
        assert dead.connections - begun < 50
        spent = "FROM windlass.attempt WHERE outcome = 'failed'"
        assert await cluster.count(spent) <= dead.connections
        waiting = [
            job_id
            for job_id in lost.values()
            if await cluster.count(
                "FROM windlass.job WHERE id = $1 AND parked_at IS NOT NULL", job_id
            )
        ]
        why = await explain(cluster.database, waiting[0])
        assert "target" in [gate.gate for gate in why.gates]
        assert dead.host in why.summary


async def test_a_host_that_comes_back_gets_each_of_its_jobs_once(any_cluster: Cluster) -> None:
    cluster = any_cluster
    is_well = asyncio.Event()

    async def behave(_delivery: Delivery) -> web.Response:
        return web.Response(status=200 if is_well.is_set() else 503)

    async with receiver(behave) as shop:
        await limit(cluster, shop.host, breaker_rest_seconds=0.5, breaker_rest_max_seconds=1.0)
        await cluster.start_node()
        await cluster.start_node()
        await cluster.submit(
            [
                hook(
                    f"d{n}", shop.url(), retry={"max_attempts": 50, "initial": "100ms", "factor": 1}
                )
                for n in range(200)
            ]
        )
        await until_breaker(cluster, shop.host, "open")
        before = len(shop.deliveries)
        # It stays ill for a while: only probes reach it.
        await until(lambda: _opened_again(cluster, shop.host, 3), what="three probes failed")
        assert len(shop.deliveries) - before < 50
        is_well.set()
        await cluster.until_ended()
        answered = Counter(delivery.webhook_id for delivery in shop.answered)
        assert len(answered) == 200
        assert set(answered.values()) == {1}
        assert await breaker(cluster, shop.host) == "closed"
    await is_whole(cluster)


async def _opened_again(cluster: Cluster, host: str, times: int) -> bool:
    found = "FROM windlass.event WHERE noun = 'target' AND subject = $1 AND type = 'breaker_opened'"
    return await cluster.count(found, host) > times


async def test_a_breaker_survives_a_flush_and_a_restart_of_every_node(cluster: Cluster) -> None:
    async with dead_host() as dead:
        await limit(cluster, dead.host, breaker_rest_seconds=300.0)
        node = await cluster.start_node()
        await cluster.submit([hook(f"d{n}", dead.url()) for n in range(50)])
        await until_breaker(cluster, dead.host, "open")
        assert cluster.redis_url is not None
        redis: Redis = Redis.from_url(cluster.redis_url)
        await redis.flushall()
        await redis.aclose()
        node.terminate()
        await node.ends()
        tried = dead.connections
        await cluster.start_node()
        await cluster.submit([hook(f"e{n}", dead.url()) for n in range(50)])

        async def are_parked() -> bool:
            late = [cluster.accepted[f"e{n}"] for n in range(50)]
            found = "FROM windlass.job WHERE id = ANY ($1) AND parked_at IS NOT NULL"
            return await cluster.count(found, late) == 50

        await until(are_parked, what="new jobs of the dead host are parked")
        assert dead.connections == tried


async def test_a_limit_on_running_holds_over_all_nodes(any_cluster: Cluster) -> None:
    cluster = any_cluster

    async def behave(_delivery: Delivery) -> web.Response:
        await asyncio.sleep(0.05)
        return web.Response()

    async with receiver(behave) as shop:
        await limit(cluster, shop.host, max_running=3)
        await cluster.start_node()
        await cluster.start_node()
        await cluster.submit([hook(f"d{n}", shop.url()) for n in range(60)])
        await cluster.until_ended()
        assert shop.most_running == 3
        assert len(shop.deliveries) == 60
    await is_whole(cluster)


async def test_a_rate_holds_over_all_nodes_from_the_first_to_the_last(any_cluster: Cluster) -> None:
    cluster, rate = any_cluster, 20.0
    async with receiver() as shop:
        await limit(cluster, shop.host, rate=rate)
        await cluster.start_node()
        await cluster.start_node()
        begun = monotonic()
        await cluster.submit([hook(f"d{n}", shop.url()) for n in range(60)])
        await cluster.until_ended()
        seen = sorted(delivery.at for delivery in shop.deliveries)
        assert len(seen) == 60
        # On a busy machine they arrive late and bunched; ahead of the pace nobody may be. The slack
        # is for a node whom Redis did not answer: it takes its share beside what the other gets.
        assert all(at - begun > n / rate - 1.0 for n, at in enumerate(seen))
    await is_whole(cluster)


async def test_a_target_that_is_gone_gets_nothing_more_until_it_is_enabled(
    cluster: Cluster,
) -> None:
    is_gone = True

    async def behave(_delivery: Delivery) -> web.Response:
        return web.Response(status=410 if is_gone else 200)

    async with receiver(behave) as shop:
        await cluster.start_node()
        await cluster.submit([hook("first", shop.url())])
        await cluster.until_ended(["first"])
        assert await cluster.states(["first"]) == Counter(dead=1)

        async def is_disabled() -> bool:
            found = "FROM windlass.target WHERE host = $1 AND NOT is_enabled"
            return await cluster.count(found, shop.host) == 1

        await until(is_disabled, what="410 disables the target")
        await cluster.submit([hook(f"d{n}", shop.url()) for n in range(20)])

        async def are_parked() -> bool:
            return await parked(cluster, shop.host) == 20

        await until(are_parked, what="its jobs are parked")
        assert len(shop.deliveries) == 1
        is_gone = False
        await cluster.fetch(
            "UPDATE windlass.target SET is_enabled = true, changed_at = clock_timestamp()"
        )
        cluster.announcer.targets([shop.host])
        await cluster.until_ended()
        assert await cluster.states([f"d{n}" for n in range(20)]) == Counter(succeeded=20)


async def test_a_silent_host_holds_only_its_share_of_the_slots(cluster: Cluster) -> None:
    async with AsyncExitStack() as hosts:
        silent = await hosts.enter_async_context(silent_host())
        healthy = await hosts.enter_async_context(receiver())
        await cluster.start_node(workers=8)
        await cluster.submit([hook(f"d{n}", silent.url(), timeout="90s") for n in range(300)])

        async def are_tried() -> bool:
            return silent.connections >= 4

        await until(are_tried, what="the silent host is tried")
        await cluster.submit([hook(f"h{n}", healthy.url()) for n in range(50)])
        await cluster.until_ended([f"h{n}" for n in range(50)], within_seconds=40)
        assert silent.connections == 4


async def test_a_kill_between_the_answer_and_the_commit_repeats_under_the_same_id(
    cluster: Cluster,
) -> None:
    """G3: the second delivery has a recorded loss before it."""
    async with receiver() as shop:
        doomed = await cluster.start_mortal_node()
        async with cluster.database.side() as connection, connection.transaction():
            held = asyncio.Event()

            async def behave(_delivery: Delivery) -> web.Response:
                # Nobody can end the job while its row is held: the answer is out, the commit waits.
                if not held.is_set():
                    await connection.fetch("SELECT id FROM windlass.job FOR UPDATE")
                    held.set()
                return web.Response()

            shop.behave = behave
            await cluster.submit([hook("only", shop.url())])

            stuck = (
                "FROM pg_stat_activity WHERE datname = current_database()"
                " AND wait_event_type = 'Lock' AND query LIKE '%job_end_many%'"
            )

            async def is_waiting() -> bool:
                return bool(shop.answered) and await cluster.count(stuck) > 0

            await until(is_waiting, what="the commit waits for the row")
            await doomed.kill()
            # PostgreSQL would go on for the dead node once the row is free.
            await cluster.fetch(f"SELECT pg_terminate_backend(pid) {stuck}")
        await cluster.start_node()
        await cluster.until_ended()
    assert await cluster.states(["only"]) == Counter(succeeded=1)
    first, second = shop.deliveries
    assert first.webhook_id == second.webhook_id == f"job_{cluster.accepted['only'].hex}"
    assert (first.status, second.status) == (200, 200)
    assert (first.attempt, second.attempt) == (1, 2)
    lost = await cluster.fetch("SELECT outcome, error FROM windlass.attempt")
    assert [row["outcome"] for row in lost] == ["lost"]
    assert "died" in lost[0]["error"]
    await is_whole(cluster)
