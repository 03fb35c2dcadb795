"""The schema and every statement of a job's life on the older PostgreSQL servers within reach."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.engine.hands import end, noop, register, sql, state, submit, take, value
from windlass import ids
from windlass.embedded.binaries import postgres_bin_dir
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.replay import delete, replay
from windlass.engine.jobs.rescue import recover
from windlass.engine.jobs.retain import fold_counters, retain
from windlass.model.job.outcome import Failed
from windlass.store.database import Database
from windlass.store.migrate import migrate
from windlass.store.statements import statement
from windlass.testing.servers import PrivateServers

# The wheel brings PostgreSQL 16 beside 18; a system may have others.
BUNDLED_16 = postgres_bin_dir().parents[1] / "pginstall" / "bin"
SYSTEM = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
BIN_DIRS = [BUNDLED_16, *(program.parent for program in SYSTEM)]


@pytest.fixture(scope="module", params=BIN_DIRS, ids=lambda bin_dir: bin_dir.parent.name)
async def older_servers(request: pytest.FixtureRequest) -> AsyncIterator[PrivateServers]:
    async with PrivateServers(bin_dir=request.param) as started:
        yield started


@pytest.fixture
async def older(older_servers: PrivateServers) -> AsyncIterator[Database]:
    url = await older_servers.create_database()
    await migrate(url)
    opened = Database(url)
    await opened.open()
    yield opened
    await opened.close()


def test_version_16_is_always_tried() -> None:
    assert (BUNDLED_16 / "postgres").is_file()


async def test_a_job_lives_its_whole_life(older: Database) -> None:
    node = await register(older)
    good, bad, child = await submit(
        older, noop(), noop(max_attempts=1), noop(depends_on_places=(0,), tags=("a",), key="k")
    )
    attempts = await take(older, node)
    assert {attempt.job_id for attempt in attempts} == {good, bad}
    by_id = {attempt.job_id: attempt for attempt in attempts}
    await end(older, node, by_id[bad], Failed("ValueError", "no"))
    await end(older, node, by_id[good])
    assert [attempt.job_id for attempt in await take(older, node)] == [child]
    assert await state(older, bad) == "dead"
    assert [job["id"] for job in await replay(older, [bad])] == [bad]
    await cancel(older, [bad])
    assert [job["id"] for job in await delete(older, [bad])] == [bad]
    with capture_logs() as said:
        await recover(older)
    assert not said, "no part of it was put off"
    assert await fold_counters(older) > 0
    assert (await retain(older, 7)).dropped == []


async def test_sql_enqueues_and_old_days_go(older: Database) -> None:
    shown = await value(older, """SELECT windlass.enqueue('{"kind": "noop", "delay": "1h"}')""")
    assert await state(older, ids.parse("job", shown)) == "queued"
    await sql(
        older,
        """CREATE TABLE windlass.job_history_20200101 PARTITION OF windlass.job_history
           FOR VALUES FROM ('2020-01-01 00:00:00+00') TO ('2020-01-02 00:00:00+00')""",
    )
    assert (await retain(older, 7)).dropped == ["job_history_20200101"]


async def test_every_statement_is_understood(older: Database) -> None:
    folder = Path(__file__).parents[2] / "src" / "windlass" / "store" / "sql"
    names = sorted(path.stem for path in folder.rglob("*.sql"))
    assert len(names) > 40
    async with older.side() as connection:
        for name in names:
            text = statement(name).replace("{where}", "true").replace("{walk}", "true")
            table = f"windlass.{name.removesuffix('_thin')}_rest"
            await connection.prepare(text.replace("{partition}", table))
