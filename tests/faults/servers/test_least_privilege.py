"""The whole engine under least rights: nodes log in at PostgreSQL as a role that `windlass migrate
role` gave its rights, and at Redis as the user of deploy/redis/windlass.acl.

At the end neither server has refused anything: PostgreSQL's log is read, and Redis' ACL LOG.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import aiohttp
import asyncpg
import pytest
from redis.asyncio import Redis

from tests import as_node_role
from tests.engine.aging import age
from tests.faults.check import faults_found
from tests.faults.cluster.leaders import candidate, followed_within, leader_after, named
from tests.faults.door import Door, open_door
from tests.faults.executions.test_examples_run import PLAYS, Stage, read_examples
from tests.faults.job_objects import hook, noop, task
from tests.faults.jobs.receiver import receiver
from tests.faults.nodes import EndedEarly
from tests.faults.real_cluster import Cluster, open_cluster
from tests.until import until
from windlass import ids
from windlass.engine.identity.first import ensure_admin_key
from windlass.engine.jobs.retain import retain
from windlass.limits import PARTITIONS_AHEAD_DAYS
from windlass.store.migrate import migrate
from windlass.store.roles import give_rights
from windlass.testing.servers import PrivateServers

SUBMITTER: Final = "test_submitter"
REFUSALS: Final = re.compile(r"permission denied|must be owner|must be superuser", re.IGNORECASE)
RETENTION_DAYS: Final = 14


@dataclass(slots=True, kw_only=True)
class Guarded:
    """Servers on which nobody of ours may more than he needs."""

    servers: PrivateServers
    owner_url: str
    cluster: Cluster  # under the role of a node

    @property
    def node_url(self) -> str:
        return as_node_role.node_url(self.owner_url)

    @property
    def submitter_url(self) -> str:
        return self.node_url.replace(as_node_role.ROLE, SUBMITTER)

    def refusals(self) -> list[str]:
        """What PostgreSQL refused so far."""
        lines = self.servers.postgres.log_path.read_text().splitlines()
        return [line for line in lines if REFUSALS.search(line)]

    async def redis_refusals(self) -> list[Any]:
        client: Any = Redis.from_url(self.servers.redis_url)
        async with client:
            found: list[Any] = await client.execute_command("ACL", "LOG")
        return found

    async def must_have_refused_nothing(self) -> None:
        assert self.refusals() == []
        assert await self.redis_refusals() == []

    async def by_owner(self, sql: str, *args: Any) -> list[asyncpg.Record]:
        return await fetch(self.owner_url, sql, *args)


async def fetch(url: str, sql: str, *args: Any) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetch(sql, *args)
    finally:
        await connection.close()


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Guarded]:
    async with PrivateServers(valkey_settings=as_node_role.valkey_settings()) as servers:
        owner_url = await servers.create_database()
        await migrate(owner_url)
        await as_node_role.make_role(servers, owner_url)
        await fetch(
            servers.admin_url(owner_url),
            f"CREATE ROLE {SUBMITTER} LOGIN PASSWORD '{as_node_role.PASSWORD}'",
        )
        await give_rights(owner_url, SUBMITTER, "submitter")
        node_url = as_node_role.node_url(owner_url)
        redis_url = as_node_role.redis_url(servers.redis_of(owner_url))
        async with open_cluster(node_url, redis_url, tmp_path) as cluster:
            yield Guarded(servers=servers, owner_url=owner_url, cluster=cluster)


async def ended(door: Door, job_id: str, state: str = "succeeded") -> dict[str, Any]:
    found: dict[str, Any] = await door.call("GET", f"/v1/jobs/{job_id}?wait=60s", 200)
    assert found["state"] == state, found
    return found


async def submitted(door: Door, job: dict[str, Any]) -> str:
    job_id: str = (await door.call("POST", "/v1/jobs", 201, job))["id"]
    return job_id


async def test_everything_is_done_and_nothing_refused(guarded: Guarded) -> None:
    cluster = guarded.cluster
    roles = "api,worker,leader"
    async with receiver() as called, open_door(cluster, roles=roles) as door:
        await _jobs(guarded, door, called.url())
        await _locks_queues_targets_secrets(door, called.host)
        await _schedules(door)
        await _nodes(guarded, door)
        await _retention(guarded)
        await _routes(door)
        await cluster.until_ended()
        assert await faults_found(cluster.database, list(cluster.accepted.values())) == []
        users = await fetch(
            guarded.servers.admin_url(guarded.owner_url),
            "SELECT DISTINCT usename::text, application_name FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name LIKE 'windlass%'",
        )
        assert len(users) > 3
        assert {row["usename"] for row in users} == {as_node_role.ROLE}
        assert "permission" not in door.node.log.lower()
        assert "lacks a right" not in door.node.log
    await guarded.must_have_refused_nothing()


async def _jobs(guarded: Guarded, door: Door, url: str) -> None:
    cluster = guarded.cluster
    one = await submitted(door, noop("single", queue="mail", tags=["a"], key="k"))
    await ended(door, one)
    batch = {"jobs": [noop("b0"), task("note", "b1"), hook("b2", url), task("fail_first", "b3")]}
    for job_id in (await door.call("POST", "/v1/jobs/batch", 201, batch))["ids"]:
        await ended(door, job_id)
    # By SQL: one that may do nothing else, what it put off, what it limits, and a parent.
    enqueue = "SELECT windlass.enqueue($1)"
    [first] = await fetch(guarded.submitter_url, enqueue, '{"kind": "noop", "queue": "new_one"}')
    await ended(door, first[0])
    for body in (
        '{"kind": "noop", "key": "later", "debounce": "1s", "input": {"a": 1}}',
        '{"kind": "noop", "key": "later", "debounce": "1s", "input": {"a": 2}}',
        '{"kind": "noop", "locks": [{"name": "few", "capacity": 2}]}',
        '{"kind": "noop", "limits": [{"name": "slow", "max_running": 1, "rate": 100}]}',
        f'{{"kind": "noop", "depends_on": ["{first[0]}"]}}',
    ):
        [row] = await fetch(guarded.submitter_url, enqueue, body)
        await ended(door, row[0])
    # In a task's own transaction, as the role of its node.
    dead = await submitted(door, task("fail", "dead", retry={"max_attempts": 1}))
    await ended(door, dead, "dead")
    await door.call("POST", "/v1/dead-letters/replay", 200, {"ids": [dead]})
    await ended(door, dead, "dead")
    await door.call("POST", "/v1/dead-letters/discard", 200, {"ids": [dead]})
    waits = [await submitted(door, noop(f"w{n}", delay="1h", queue="bulk")) for n in range(5)]
    await door.call("POST", f"/v1/jobs/{waits[0]}/cancel", 200)
    bulk = {"verb": "cancel", "filter": {"queue": "bulk"}}
    operation = await door.call("POST", "/v1/jobs/bulk", 202, bulk)
    await door.until_phase(operation, "done")
    await ended(door, waits[4], "cancelled")
    parent = await submitted(door, task("note", "parent", 0.2))
    child = await submitted(door, noop("child", depends_on=[parent]))
    await ended(door, child)
    held = await cluster.submit([task("note_held", "held")])
    await cluster.until_started(["held"])
    path = f"/v1/jobs/{ids.show('job', held['held'])}/cancel"
    async with door.session.post(door.node.url + path) as answer:
        assert answer.status in (200, 202), await answer.text()
    await cluster.until_ended(["held"])


async def _locks_queues_targets_secrets(door: Door, host: str) -> None:
    held = await door.call("POST", "/v1/locks/a", 201, {"ttl": "20s"})
    await door.call("PUT", "/v1/locks/a", 200, {"token": held["token"], "ttl": "1h"})
    async with door.session.delete(f"{door.node.url}/v1/locks/a?token={held['token']}") as answer:
        assert answer.status == 204
    await door.call("PUT", "/v1/queues/mail", 200, {"max_jobs": 1000})
    await door.call("POST", "/v1/queues/mail/pause", 200)
    await door.call("POST", "/v1/queues/mail/resume", 200)
    await door.call("PUT", f"/v1/targets/{host}", 200, {"rate": 100})
    await door.call("POST", f"/v1/targets/{host}/disable", 200)
    await door.call("POST", f"/v1/targets/{host}/enable", 200)


async def _schedules(door: Door) -> None:
    made = {"name": "often", "every": "1s", "job": {"kind": "noop"}}
    await door.call("POST", "/v1/schedules", 201, made)

    async def fires() -> bool:
        found = await door.call("GET", "/v1/schedules/often/firings", 200)
        return any(one["state"] == "fired" for one in found["data"])

    await until(fires, what="it fires")
    await door.call("POST", "/v1/schedules/often/trigger", 201)
    await door.call("POST", "/v1/schedules/often/pause", 200)
    end = datetime.now(UTC) - timedelta(days=1)
    past = {"from": (end - timedelta(seconds=3)).isoformat(), "to": end.isoformat()}
    await door.call("POST", "/v1/schedules/often/backfill", 200, past)
    await door.call("PATCH", "/v1/schedules/often", 200, {"every": "2h"})
    await door.call("POST", "/v1/schedules/often/resume", 200)
    other = {"name": "other", "cron": "@daily", "job": {"kind": "noop"}}
    await door.call("POST", "/v1/schedules", 201, other)
    async with door.session.delete(f"{door.node.url}/v1/schedules/other") as answer:
        assert answer.status in (200, 204)


async def _nodes(guarded: Guarded, door: Door) -> None:
    worker = await guarded.cluster.start_node(workers=2)
    await door.until_ended(await door.resize(worker.node_id, 5))
    await door.until_ended(await door.verb(worker.node_id, "pause"))
    await door.until_ended(await door.verb(worker.node_id, "resume"))
    said = {"name": "ping", "targets": [ids.show("node", worker.node_id)], "wait": "20s"}
    await door.call("POST", "/v1/signals", 200, said)
    await door.call("POST", "/v1/system/sweep", 200, {})
    await door.verb(worker.node_id, "drain")
    assert await worker.ends() == 0


async def _retention(guarded: Guarded) -> None:
    """A day of long ago goes, and the days to come are there, tomorrow's made anew."""
    database = guarded.cluster.database
    [row] = await guarded.by_owner("SELECT id FROM windlass.job_history LIMIT 1")
    owners = type(database)(guarded.owner_url)
    await owners.open()
    try:
        day = await age(owners, [row["id"]], 30)
    finally:
        await owners.close()
    tomorrow = f"{datetime.now(UTC) + timedelta(days=1):%Y%m%d}"
    await guarded.by_owner(f"DROP TABLE windlass.event_{tomorrow}, windlass.job_history_{tomorrow}")
    done = await retain(database, RETENTION_DAYS)
    assert done.is_whole, done.troubles
    assert {f"{table}_{day}" for table in ("job_history", "attempt")} <= set(done.dropped)
    assert done.made >= 2
    assert done.days_ahead == PARTITIONS_AHEAD_DAYS
    # What was made anew can be thinned one day, by the same role.
    assert await give_rights(guarded.owner_url, as_node_role.ROLE, "node") == []


async def _routes(door: Door) -> None:
    """Each that reads answers, or says that there is no such thing."""
    document = await door.call("GET", "/openapi.json", 200)
    first = {
        noun: (await door.call("GET", f"/v1/{noun}?limit=1", 200))["data"]
        for noun in ("jobs", "nodes", "operations", "schedules", "queues", "targets")
    }
    known = {
        "job_id": first["jobs"][0]["id"],
        "node_id": first["nodes"][0]["id"],
        "operation_id": first["operations"][0]["id"],
        "name": "often",
    }
    asked = 0
    for path, verbs in document["paths"].items():
        if "get" not in verbs or path.endswith("/stream"):
            continue
        filled = re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], "nobody"), path)
        async with door.session.get(door.node.url + filled) as answer:
            text = await answer.text()
            assert answer.status < 500, f"{filled}: {answer.status} {text}"
            assert REFUSALS.search(text) is None
            assert "{" in path or answer.status in (200, 400, 401, 404, 409, 422), (
                f"{filled}: {text}"
            )
        asked += 1
    assert asked > 40


async def test_workflows_of_every_kind_run_to_their_end(guarded: Guarded) -> None:
    cluster = guarded.cluster
    async with (
        receiver() as called,
        open_door(cluster, roles="api,worker,leader", app="examples.shop:app") as door,
    ):
        stage = Stage(door, called)
        for name, text in read_examples().items():
            await stage.publish(name, text)
        await asyncio.gather(*(play(stage) for play in PLAYS.values()))
    await guarded.must_have_refused_nothing()


async def test_users_sessions_keys_and_secrets_are_kept(guarded: Guarded) -> None:
    cluster = guarded.cluster
    key = await ensure_admin_key(cluster.database)
    async with open_door(cluster, roles="api", WINDLASS_AUTH="on") as door:
        head = {"Authorization": f"Bearer {key}"}
        url = door.node.url + "/v1"
        async with aiohttp.ClientSession(headers=head) as admin:

            async def call(method: str, path: str, body: Any = None) -> Any:
                async with admin.request(method, url + path, json=body) as answer:
                    text = await answer.text()
                    assert answer.status < 300, f"{method} {path}: {answer.status} {text}"
                    return await answer.json(content_type=None) if text else None

            ann = {"name": "ann", "password": "a long word of nobody else"}
            await call("POST", "/users", {**ann, "role": "operator"})
            login = {"user": "ann", "password": ann["password"]}
            async with (
                aiohttp.ClientSession() as person,
                person.post(f"{url}/session", json=login) as answer,
            ):
                assert answer.status in (200, 201), await answer.text()
            await call("GET", "/sessions")
            await call("PATCH", "/users/ann", {"role": "viewer"})
            await call("POST", "/users/ann/reset-password")
            token = await call("POST", "/keys", {"name": "ci", "role": "viewer"})
            await call("POST", f"/keys/{token['id']}/rotate")
            await call("DELETE", f"/keys/{token['id']}")
            await call("DELETE", "/users/ann")
            for value in ("of before", "of now"):
                await call("PUT", "/secrets/token", {"value": value})
            await call("DELETE", "/secrets/token")
    await guarded.must_have_refused_nothing()


async def test_another_leads_when_the_leader_is_killed_or_frozen(guarded: Guarded) -> None:
    cluster = guarded.cluster
    nodes = [await candidate(cluster) for _ in range(3)]
    led = await leader_after(cluster, 0, within_seconds=20)
    await named(nodes, led).kill()
    led, _ = await followed_within(cluster, led["term"], within_seconds=20)
    frozen = named(nodes, led)
    await frozen.freeze()
    await followed_within(cluster, led["term"], within_seconds=20)
    frozen.thaw()
    await guarded.must_have_refused_nothing()


async def test_a_leader_that_froze_as_the_owner_is_followed(guarded: Guarded) -> None:
    """As while nodes are moved from the one role to the other."""
    cluster = guarded.cluster
    settings = {"WINDLASS_LOG_LEVEL": "debug"}
    frozen = await cluster.nodes.start(
        guarded.owner_url, cluster.redis_url, roles="worker,leader", settings=settings
    )
    led = await leader_after(cluster, 0, within_seconds=20)
    await candidate(cluster)
    await frozen.freeze()
    await followed_within(cluster, led["term"], within_seconds=20)
    frozen.thaw()


async def test_work_goes_on_when_nodes_are_killed(guarded: Guarded) -> None:
    cluster = guarded.cluster
    doomed = await cluster.start_mortal_node()
    await cluster.submit([task("note", f"t{n}", 0.05) for n in range(60)])
    await cluster.until_started(["t0"])
    await doomed.kill()
    await cluster.start_node()
    await cluster.until_ended()
    assert await faults_found(cluster.database, list(cluster.accepted.values())) == []
    await guarded.must_have_refused_nothing()


NOT_ALLOWED: Final = {
    "makes a table": "CREATE TABLE windlass.mine (a int)",
    "makes one elsewhere": "CREATE TABLE public.mine (a int)",
    "makes a schema": "CREATE SCHEMA mine",
    "changes a table": "ALTER TABLE windlass.job ADD COLUMN mine int",
    "drops a table": "DROP TABLE windlass.job_history",
    "drops the schema": "DROP SCHEMA windlass CASCADE",
    "makes a function": "CREATE FUNCTION windlass.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "replaces one of ours": (
        "CREATE OR REPLACE FUNCTION windlass.uuid7() RETURNS uuid "
        "LANGUAGE sql AS 'SELECT NULL::uuid'"
    ),
    "puts a trigger on a table": (
        "CREATE TRIGGER mine BEFORE INSERT ON windlass.job FOR EACH ROW "
        "EXECUTE FUNCTION windlass.refuse_move()"
    ),
    "silences the triggers": "SET session_replication_role = replica",
    "empties a table": "TRUNCATE windlass.job",
    "changes what happened": "UPDATE windlass.event SET type = 'nothing'",
    "changes an attempt": "UPDATE windlass.attempt SET error = NULL",
    "changes a published version": "UPDATE windlass.workflow_version SET definition = '{}'",
    "forgets a migration": "DELETE FROM windlass.migration",
    "signs sessions with its own key": "UPDATE windlass.session_key SET key = ''",
    "becomes the owner": "SET ROLE windlass",
    "becomes the superuser": "SET SESSION AUTHORIZATION windlass_admin",
    "enters itself as another kind": "UPDATE windlass.role_grant SET kind = 'node'",
    "makes a role": "CREATE ROLE mine",
    "reads another schema": "SELECT * FROM shop.customer",
    "reads files of the server": "SELECT pg_read_file('postgresql.conf')",
    "runs a program": "COPY windlass.job TO PROGRAM 'true'",
    "makes a day of a table that has none": "SELECT windlass.make_partition('job', current_date)",
    "makes a day far ahead": "SELECT windlass.make_partition('event', current_date + 900)",
    "drops a day to come": (
        "SELECT windlass.drop_partition('event', 'event_' || to_char(now() AT TIME ZONE 'UTC' "
        "+ interval '2 days', 'YYYYMMDD'), 0, 0)"
    ),
    "drops the rest": "SELECT windlass.drop_partition('event', 'event_rest', 0, 0)",
    "drops a whole table": "SELECT windlass.drop_partition('job', 'job_key', 0, 0)",
    "drops a day of the audit log": (
        "SELECT windlass.drop_partition('audit_test', 'audit_test_20260101', 0, 0)"
    ),
    "changes an entry of the audit log": "UPDATE windlass.audit_test SET said = ''",
    "deletes one": "DELETE FROM windlass.audit_test",
    "deletes one of its day": "DELETE FROM windlass.audit_test_20260101",
}


async def test_a_node_may_do_none_of_what_it_does_not_need(guarded: Guarded) -> None:
    await guarded.by_owner("SELECT 1")
    owner = await asyncpg.connect(guarded.owner_url)
    await owner.execute(
        """CREATE SCHEMA shop; CREATE TABLE shop.customer (name text);
           CREATE TABLE windlass.audit_test (at timestamptz, said text) PARTITION BY RANGE (at)"""
    )
    await give_rights(guarded.owner_url, as_node_role.ROLE, "node")
    # With the rights of its table: by the same function as days of the history.
    await owner.execute("SELECT windlass.make_partition('audit_test', '2026-01-01')")
    await owner.close()
    node = await asyncpg.connect(guarded.node_url)
    try:
        await node.execute("INSERT INTO windlass.audit_test VALUES ('2026-01-01', 'x')")
        assert await node.fetchval("SELECT count(*) FROM windlass.audit_test") == 1
        wrongly: list[str] = []
        for what, sql in NOT_ALLOWED.items():
            transaction = node.transaction()
            await transaction.start()
            try:
                answer = await node.fetch(sql)
            except (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidParameterValueError):
                pass
            else:
                wrongly.append(f"{what}: {answer}")
            finally:
                await transaction.rollback()
        assert wrongly == []
    finally:
        await node.close()


async def test_a_submitter_may_submit_and_nothing_else(guarded: Guarded) -> None:
    submitter = await asyncpg.connect(guarded.submitter_url)
    try:
        made = await submitter.fetchval("SELECT windlass.enqueue($1)", '{"kind": "noop"}')
        assert made.startswith("job_")
        tables = await guarded.by_owner(
            "SELECT relname FROM pg_class WHERE relnamespace = 'windlass'::regnamespace "
            "AND relkind IN ('r', 'p')"
        )
        for table in tables:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await submitter.fetch(f"SELECT FROM windlass.{table['relname']} LIMIT 1")
        for sql in (
            "INSERT INTO windlass.job (id, kind) VALUES (gen_random_uuid(), 'noop')",
            "SELECT windlass.at_commit('queue', 'mine')",
            "SELECT windlass.make_partition('event', current_date)",
            "SELECT windlass.evict_leader(6289644409843958084)",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await submitter.fetch(sql)
    finally:
        await submitter.close()


@asynccontextmanager
async def _refused(guarded: Guarded) -> AsyncIterator[list[str]]:
    said: list[str] = []
    with pytest.raises(EndedEarly) as early:
        await guarded.cluster.start_node()
    assert early.value.code == 1
    log = max(
        guarded.cluster.nodes._folder.glob("node-*.log"), key=lambda path: path.stat().st_mtime
    )
    said += log.read_text().splitlines()
    assert not any("Traceback" in line for line in said), said
    yield said


async def test_a_node_that_may_not_migrate_says_who_has_to(guarded: Guarded) -> None:
    await guarded.by_owner("DELETE FROM windlass.migration WHERE number = 29")
    async with _refused(guarded) as said:
        [line] = [line for line in said if line.startswith("error: ")]
        assert "lacks migration 0029_role" in line
        assert "`windlass migrate up` as its owner, 'windlass'" in line
        assert as_node_role.ROLE in line


async def test_a_node_whose_role_lacks_a_right_says_which_and_what_to_do(guarded: Guarded) -> None:
    await guarded.by_owner(f"REVOKE UPDATE ON windlass.lock FROM {as_node_role.ROLE}")
    async with _refused(guarded) as said:
        [line] = [line for line in said if line.startswith("error: ")]
        assert "GRANT UPDATE ON TABLE windlass.lock" in line
        assert f"windlass migrate role {as_node_role.ROLE}" in line
    told = _windlass(guarded, "doctor")
    assert told.returncode == 1
    assert "lacks a right that a node needs (GRANT UPDATE ON TABLE windlass.lock" in told.stdout
    await give_rights(guarded.owner_url, as_node_role.ROLE, "node")
    told = _windlass(guarded, "doctor")
    assert told.returncode == 0
    assert "which owns nothing, as a node should" in told.stderr
    assert f"as the user {as_node_role.REDIS_USER}" in told.stderr
    await guarded.by_owner(f"REVOKE USAGE ON SCHEMA windlass FROM {as_node_role.ROLE}")
    async with _refused(guarded) as said:
        [line] = [line for line in said if "error: " in line][-1:]
        assert "GRANT USAGE ON SCHEMA windlass" in line


async def test_a_backup_is_taken_by_a_node_and_its_task_writes_by_its_role(
    guarded: Guarded, tmp_path: Path
) -> None:
    await guarded.by_owner("CREATE TABLE public.effect (marker text, attempt int4)")
    cluster = guarded.cluster
    app = "tests.faults.jobs.writing_app:app"
    await cluster.nodes.start(cluster.database.url, cluster.redis_url, app=app)
    once = {"max_attempts": 1}
    [refused] = (await cluster.submit([task("write_quickly", "no", 0, retry=once)])).values()
    await cluster.until_ended(["no"])
    [row] = await cluster.fetch(
        "SELECT state, error FROM windlass.job_history WHERE id = $1", refused
    )
    assert row["state"] == "dead"
    assert "permission denied for table effect" in row["error"]
    await guarded.by_owner(f"GRANT INSERT ON public.effect TO {as_node_role.ROLE}")
    await cluster.submit([task("write_quickly", "yes", 0, retry=once)])
    await cluster.until_ended(["yes"])
    assert [one["marker"] for one in await guarded.by_owner("SELECT * FROM public.effect")] == [
        "yes"
    ]
    told = await asyncio.to_thread(_windlass, guarded, "backup", str(tmp_path / "all.dump"))
    assert told.returncode == 0, told.stderr


def _windlass(guarded: Guarded, *words: str) -> subprocess.CompletedProcess[str]:
    ours = {name: text for name, text in os.environ.items() if not name.startswith("WINDLASS_")}
    urls = {
        "WINDLASS_DATABASE_URL": guarded.node_url,
        "WINDLASS_REDIS_URL": guarded.cluster.redis_url or "",
    }
    return subprocess.run(
        [sys.executable, "-m", "windlass", *words],
        env={**ours, **urls},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
