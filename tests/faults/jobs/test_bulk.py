"""Bulk operations while the nodes that work on them are killed: every job once, at the rate."""

from __future__ import annotations

from tests.as_node_role import by_hand
from tests.faults.check import faults_found
from tests.faults.job_objects import noop, task
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.engine.jobs.bulk import BulkRequest, ask, check_request, read_bulk
from windlass.engine.jobs.read import JobFilter
from windlass.model.job.bulk import BulkOperation

RATE = 100.0
# A trigger of the test's own that holds whoever cancels this job, in the middle of its batch.
_HOLD = """
    CREATE TABLE public.held (id uuid PRIMARY KEY);
    GRANT ALL ON public.held TO PUBLIC;
    CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT FROM public.held h WHERE h.id = OLD.id) THEN PERFORM pg_sleep(60); END IF;
        RETURN OLD;
    END $$;
    CREATE TRIGGER hold BEFORE DELETE ON windlass.job
        FOR EACH ROW EXECUTE FUNCTION public.hold();
"""
_SLEEPS = "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
# The most that any second saw end.
_MOST_A_SECOND = """
    SELECT max(n)::int AS most, extract(epoch FROM max(at) - min(at))::float8 AS took
    FROM (SELECT finished_at AS at, count(*) OVER (
              ORDER BY finished_at RANGE BETWEEN interval '1 second' PRECEDING AND CURRENT ROW) AS n
          FROM windlass.job_history) ends
"""


async def cancel_all(cluster: Cluster, queue: str, rate: float | None = None) -> BulkOperation:
    which = check_request("cancel", JobFilter(queue=queue))
    return await ask(cluster.database, BulkRequest(verb="cancel", which=which, rate=rate))


async def until_done(cluster: Cluster, operation: BulkOperation, least: int) -> BulkOperation:
    async def is_there() -> BulkOperation | None:
        now = await read_bulk(cluster.database, operation.id)
        return now if now.done >= least else None

    found: BulkOperation = await until(is_there, what=f"{least} are done")
    return found


async def until_ended(cluster: Cluster, operation: BulkOperation) -> BulkOperation:
    async def is_over() -> BulkOperation | None:
        now = await read_bulk(cluster.database, operation.id)
        return now if now.ended_at is not None else None

    found: BulkOperation = await until(is_over, what="the operation ends")
    return found


async def test_a_node_killed_in_the_middle_of_a_batch_leaves_it_to_the_next(
    cluster: Cluster,
) -> None:
    jobs = await cluster.submit([noop(f"n{n}", queue="mail", delay="1h") for n in range(3_000)])
    async with by_hand(cluster.database) as connection:
        await connection.execute(_HOLD)
        # Somewhere in the second batch.
        await connection.execute("INSERT INTO public.held VALUES ($1)", jobs["n1500"])
    node = await cluster.start_mortal_node()
    operation = await cancel_all(cluster, "mail")

    async def stands_still() -> bool:
        return await cluster.count(_SLEEPS) == 1

    await until(stands_still, what="a batch is under way")
    before = (await read_bulk(cluster.database, operation.id)).done
    assert before == await cluster.count("FROM windlass.job_history")
    assert 0 < before < len(jobs)
    await node.kill()
    await cluster.fetch("TRUNCATE public.held")
    await cluster.fetch(f"SELECT pg_terminate_backend(pid) {_SLEEPS}")
    await cluster.start_node()
    ended = await until_ended(cluster, operation)
    assert (ended.done, ended.gone, ended.refused) == (len(jobs), 0, 0)
    assert await cluster.states(jobs) == {"cancelled": len(jobs)}
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def test_a_rate_is_kept_by_all_nodes_together_whoever_dies(cluster: Cluster) -> None:
    jobs = await cluster.submit([noop(f"n{n}", queue="mail", delay="1h") for n in range(500)])
    nodes = [await cluster.start_mortal_node() for _ in range(2)]
    await cluster.start_node()
    operation = await cancel_all(cluster, "mail", rate=RATE)
    for place, node in enumerate(nodes, 1):
        await until_done(cluster, operation, 100 * place)
        await node.kill()
    ended = await until_ended(cluster, operation)
    assert (ended.done, ended.gone, ended.refused) == (len(jobs), 0, 0)
    assert await cluster.count("FROM windlass.job_history WHERE state = 'cancelled'") == len(jobs)
    [found] = await cluster.fetch(_MOST_A_SECOND)
    # Batches of half a second's worth begin on time; a busy machine may end two late ones together.
    assert found["most"] <= 2 * RATE
    assert found["took"] >= 0.8 * (len(jobs) / RATE - 1)
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def test_running_jobs_are_stopped_wherever_they_run(cluster: Cluster) -> None:
    for _ in range(2):
        await cluster.start_node(workers=4)
    jobs = await cluster.submit([task("note", f"n{n}", 120.0, queue="mail") for n in range(8)])
    await cluster.until_started(jobs)
    ended = await until_ended(cluster, await cancel_all(cluster, "mail"))
    assert ended.done == len(jobs)
    await cluster.until_ended(within_seconds=30)
    assert await cluster.states(jobs) == {"cancelled": len(jobs)}
