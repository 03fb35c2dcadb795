"""kill -9 in every phase of a resize: the operation is rolled back by others, its jobs run there.

A trigger of the test's own holds the step out of a phase, so that the node stands in it when it is
killed; the product knows nothing of it.
"""

from __future__ import annotations

import asyncio

from tests.as_node_role import by_hand
from tests.faults.check import faults_found
from tests.faults.job_objects import task
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.engine.cluster.operations import OperationRequest, ask, read_operations

PHASES = ("pending", "pausing", "draining", "shrinking", "applying", "resuming")
WORKERS = 2
_HOLD = """
    CREATE TABLE public.held (node_id uuid PRIMARY KEY, phase text NOT NULL);
    GRANT ALL ON public.held TO PUBLIC;
    CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT FROM public.held h WHERE h.node_id = OLD.node_id AND h.phase = OLD.phase)
           AND NEW.phase IS DISTINCT FROM OLD.phase AND NEW.phase <> 'rolled_back' THEN
            PERFORM pg_sleep(60);
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER hold BEFORE UPDATE ON windlass.operation
        FOR EACH ROW EXECUTE FUNCTION public.hold();
"""


async def test_a_node_killed_in_any_phase_leaves_no_operation_open_and_no_job_behind(
    cluster: Cluster,
) -> None:
    async with by_hand(cluster.database) as connection:
        await connection.execute(_HOLD)
    # All of them are killed, but not before six interpreters have started at once.
    starts = (cluster.start_node(workers=WORKERS, WINDLASS_LEASE_SECONDS="10") for _ in PHASES)
    nodes = await asyncio.gather(*starts)
    jobs = await cluster.submit([task("note", f"k{n}", 4.0) for n in range(WORKERS * len(PHASES))])
    await cluster.until_started(jobs)
    operations = {}
    for node, phase in zip(nodes, PHASES, strict=True):
        async with by_hand(cluster.database) as connection:
            await connection.execute("INSERT INTO public.held VALUES ($1, $2)", node.node_id, phase)
        wanted = OperationRequest(
            kind="resize", to_workers=1, drain_seconds=0.5, on_timeout="finish"
        )
        operations[phase] = await ask(cluster.database, node.node_id, wanted)

    async def all_stand_still() -> bool:
        found = {
            phase: (await read_operations(cluster.database, operation.id))[0].phase
            for phase, operation in operations.items()
        }
        return all(phase == at for phase, at in found.items())

    await until(all_stand_still, what="each node stands in its phase")
    for node in nodes:
        await node.kill()
    async with by_hand(cluster.database) as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE wait_event = 'PgSleep' AND datname = current_database()"
        )
    await cluster.start_node(workers=16)
    await cluster.until_ended()

    async def all_rolled_back() -> bool:
        rows = await cluster.fetch("SELECT phase, reason FROM windlass.operation")
        return {(row["phase"], row["reason"]) for row in rows} == {
            ("rolled_back", "its node died, was cut off or left")
        }

    await until(all_rolled_back, what="every operation is rolled back")
    assert await cluster.states(jobs) == {"succeeded": len(jobs)}
    assert await faults_found(cluster.database, cluster.accepted.values()) == []
