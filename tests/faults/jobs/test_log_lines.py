"""What a node's log tells of its jobs and servers, as a stranger reads it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.faults.job_objects import hook, task
from tests.faults.nodes import NodeProcess
from tests.faults.real_cluster import Cluster, open_cluster
from tests.ports import free_port
from tests.until import until
from windlass import ids
from windlass.engine.jobs.task_log import read_log
from windlass.limits import LOG_ALIKE_MAX
from windlass.store.migrate import migrate
from windlass.testing.servers import PrivateServers

TWICE = {"max_attempts": 2, "initial": "10ms"}
ONCE = {"max_attempts": 1}
AT = r"\d\d:\d\d:\d\d"


async def start(cluster: Cluster, roles: str = "worker", **settings: str) -> NodeProcess:
    """One with the usual log."""
    url, redis_url = cluster.database.url, cluster.redis_url
    return await cluster.nodes.start(url, redis_url, roles=roles, settings=settings)


def name_of(cluster: Cluster, marker: str) -> str:
    return ids.show("job", cluster.accepted[marker])


def lines(node: NodeProcess, having: str) -> list[str]:
    return [line for line in node.log.splitlines() if having in line]


async def job_log(cluster: Cluster, marker: str) -> list[tuple[str, str, Any]]:
    rows = await read_log(cluster.database, cluster.accepted[marker], 1_000)
    return [
        (row["level"], row["message"], json.loads(row["fields"]) if row["fields"] else None)
        for row in rows
    ]


async def test_a_task_that_fails_has_a_line_for_each_try_and_says_how_to_replay_it(
    cluster: Cluster,
) -> None:
    node = await start(cluster)
    await cluster.submit([task("fail", "seven", retry=TWICE)])
    await cluster.until_ended()
    job = name_of(cluster, "seven")
    await until(lambda: "job_dead" in node.log, what="its death is told")
    retried, dead = lines(node, job)
    assert re.match(
        rf"{AT} WARNING   fail failed \(attempt 1 of 2\): ValueError: no such order: seven; "
        rf"next try in 0(\.\d)? s, at {AT}  job={job} queue=default .*event=job_retried$",
        retried,
    )
    assert re.match(
        rf"{AT} ERROR     fail is dead \(attempt 2 of 2\): ValueError: no such order: seven; "
        rf"to run it again: windlass dead replay {job}  .*event=job_dead$",
        dead,
    )
    assert "Traceback" not in node.log


async def test_as_json_a_line_has_its_name_its_sentence_and_its_facts(cluster: Cluster) -> None:
    node = await start(cluster, WINDLASS_LOG_FORMAT="json", WINDLASS_LOG_LEVEL="debug")
    await cluster.submit([task("fail", "seven", retry=ONCE), task("note", "well")])
    await cluster.until_ended()
    # Both have ended; each is told after the commit of its own end.
    await until(lambda: "job_dead" in node.log, what="its death is told")
    await until(lambda: "job_settled" in node.log, what="what went well is told")
    job, well = name_of(cluster, "seven"), name_of(cluster, "well")
    said = [json.loads(line) for line in lines(node, '"job"')]
    [dead] = [line for line in said if line["event"] == "job_dead"]
    assert dead["message"].startswith("fail is dead (attempt 1 of 1): ValueError: no such order")
    facts = {name: dead[name] for name in ("job", "task", "kind", "queue", "cause", "attempt")}
    assert facts == {
        "job": job,
        "task": "fail",
        "kind": "python",
        "queue": "default",
        "cause": "ValueError",
        "attempt": 1,
    }
    # At this level everything is told: the traceback, starts, and what went well.
    assert "in fail" in dead["traceback"]
    started = [line for line in said if line["event"] == "job_started"]
    assert {line["job"] for line in started} == {job, well}
    settled = [line for line in said if line["event"] == "job_settled"]
    assert [(line["job"], line["state"]) for line in settled] == [(well, "succeeded")]


async def test_a_webhook_to_a_dead_host_names_the_host_and_the_reason(cluster: Cluster) -> None:
    node = await start(cluster)
    host = f"127.0.0.1:{free_port()}"
    await cluster.submit([hook("gone", f"http://{host}/hook", retry=TWICE)])
    await cluster.until_ended()
    await until(lambda: "job_dead" in node.log, what="its death is told")
    retried, dead = lines(node, f"webhook to {host}")
    assert f"webhook to {host} failed (attempt 1 of 2): connection refused; next try in" in retried
    assert f"webhook to {host} is dead (attempt 2 of 2): connection refused; to run it" in dead


async def test_a_flood_of_failures_is_a_few_lines_and_a_number(cluster: Cluster) -> None:
    count = 300
    node = await start(cluster)
    await cluster.submit([task("fail", f"n{n}", retry=ONCE) for n in range(count)])
    await cluster.until_ended()
    node.terminate()
    assert await node.ends() == 0
    told = lines(node, "event=job_dead")
    summed = re.findall(r"… and (\d+) more like this in the last 10 s: fail: dead, Val", node.log)
    assert summed
    assert len(told) <= LOG_ALIKE_MAX * len(summed) < count
    assert len(told) + sum(map(int, summed)) == count


async def test_what_a_task_logs_is_in_the_nodes_log_and_in_its_jobs(cluster: Cluster) -> None:
    node = await start(cluster)
    await cluster.submit(
        [task("say", "one"), task("say_async", "two"), task("say_isolated", "three")]
    )
    await cluster.until_ended()
    *before, misfit, structlogs, copied = await job_log(cluster, "one")
    assert before == [("info", "one of a thread", {"box": 3})]
    assert misfit[1].startswith("%s of %d (its arguments do not fit: TypeError: ")
    assert structlogs == ("warning", "one of structlog", {"box": 4})
    assert copied == ("info", "one of a copied context", None)
    assert await job_log(cluster, "two") == [
        ("info", "two of a loop", None),
        ("info", "two of structlog", {"box": 5}),
        ("info", "two of its thread", None),
    ]
    assert await job_log(cluster, "three") == [
        ("info", "three of a process", None),
        ("info", "three of structlog", {"box": 6}),
    ]
    for marker, name, count in (("one", "say", 4), ("two", "say_async", 3)):
        told = lines(node, f"job={name_of(cluster, marker)} task={name}")
        assert len(told) == count, "each line once"
    assert len(lines(node, f"job={name_of(cluster, 'three')} task=say_isolated")) == 2
    assert "Logging error" not in node.log


async def test_what_a_task_binds_is_not_the_next_ones(cluster: Cluster) -> None:
    node = await start(cluster)
    await cluster.submit([task("bind", "first")])
    await cluster.until_ended()
    await cluster.submit([task("say", f"n{n}") for n in range(20)])
    await cluster.until_ended()
    [bound] = lines(node, "bound_by")
    assert "first has bound" in bound


async def test_an_app_that_configures_its_logs_keeps_them_as_they_are(cluster: Cluster) -> None:
    url, redis_url = cluster.database.url, cluster.redis_url
    node = await cluster.nodes.start(url, redis_url, app="tests.faults.configured_app:app")
    await cluster.submit([task("say_async", "two")])
    await cluster.until_ended()
    job = name_of(cluster, "two")
    assert lines(node, "two of a loop") == [f"theirs: two of a loop [{job}]"]
    assert [line[1] for line in await job_log(cluster, "two")] == [
        *("two of a loop", "two of structlog", "two of its thread")
    ]


async def test_the_level_is_of_the_nodes_log_and_a_jobs_own_begins_with_info(
    cluster: Cluster,
) -> None:
    node = await start(cluster, WINDLASS_LOG_LEVEL="error")
    await cluster.submit([task("say_async", "two"), task("fail", "seven", retry=TWICE)])
    await cluster.until_ended()
    await until(lambda: "job_dead" in node.log, what="its death is told")
    assert {line.split()[1] for line in node.log.splitlines()} == {"ERROR"}
    assert len(await job_log(cluster, "two")) == 3


async def test_redis_and_postgresql_that_go_and_come_back_are_told_once_each(
    tmp_path: Path,
) -> None:
    async with PrivateServers() as servers:
        await migrate(servers.database_url)
        async with open_cluster(servers.database_url, servers.redis_url, tmp_path) as cluster:
            node = await start(cluster, roles="worker,leader", WINDLASS_LEASE_SECONDS="120")
            await servers.kill_valkey()
            await until(lambda: "redis_away" in node.log, what="it is told that Redis is away")
            await servers.restart_valkey()
            await until(lambda: "redis_back" in node.log, what="it is told that Redis is back")
            await servers.kill_postgres()
            await until(lambda: "postgresql_away" in node.log, what="PostgreSQL is away")
            before = len(node.log)
            await servers.restart_postgres()
            await until(lambda: "postgresql_back" in node.log, what="PostgreSQL is back")
            told = node.log[before:].splitlines()
    assert all("is not available" not in line for line in told), "once for each outage"
    [away, back] = lines(node, "Redis")
    reason = r"\((connection refused|it closed the connection)\)"
    assert re.search(rf"does not answer {reason}; going on without it", away)
    assert re.search(r"Redis is back after \d", back)
    assert [("is not available" in line) for line in lines(node, "event=postgresql_")] == [1, 0]
    assert "Traceback" not in node.log


async def test_a_node_that_is_killed_is_told_with_how_many_jobs_go_on_elsewhere(
    cluster: Cluster,
) -> None:
    dead = await cluster.start_mortal_node()
    held = await cluster.submit([task("note_held", f"h{n}") for n in range(3)])
    await cluster.until_started(held)
    shown = ids.show("node", dead.node_id)
    heir = await start(cluster, roles="worker,leader")
    await dead.kill()
    await until(lambda: "jobs_taken_back" in heir.log, what="they are told to be taken back")
    [lost] = lines(heir, "event=node_lost")
    assert re.search(r"node \S+ stopped answering; other nodes take over what it ran", lost)
    assert f"node={shown}" in lost
    [back] = lines(heir, "event=jobs_taken_back")
    assert f" 3 jobs taken back from {shown}, which stopped answering" in back
