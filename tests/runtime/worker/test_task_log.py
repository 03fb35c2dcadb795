"""Notes of tasks: written many at a time, in order, each once, and forgotten with their job."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.engine.hands import end, register, submit_one, take, take_one, until_sql, value
from tests.wipe import wipe
from windlass.clock import monotonic
from windlass.engine.jobs.replay import delete
from windlass.engine.jobs.retain import retain
from windlass.engine.jobs.task_log import put_lines, put_progress, read_log, read_progress
from windlass.errors import NotFound
from windlass.limits import NOTES_WAITING_MAX
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Failed
from windlass.model.job.task_log import line, progress
from windlass.runtime.worker.task_log import TaskLogWriter
from windlass.store.database import Database
from windlass.testing.servers import PrivateServers


@pytest.fixture(scope="module")
async def one_url(servers: PrivateServers, template_url: str) -> str:
    return await servers.create_database(template_url)


@pytest.fixture
async def database_url(one_url: str) -> str:
    """One for all these tests, emptied before each."""
    await wipe(one_url)
    return one_url


@pytest.fixture
async def node_id(database: Database) -> UUID:
    return await register(database)


async def begun(database: Database, node_id: UUID) -> Attempt:
    await submit_one(database)
    return await take_one(database, node_id)


async def said(database: Database, job_id: UUID) -> list[str]:
    return [row["message"] for row in await read_log(database, job_id, 500)]


async def test_lines_of_many_threads_are_there_when_somebody_has_waited_for_them(
    database: Database, node_id: UUID
) -> None:
    notes = TaskLogWriter(database)
    attempts = [await begun(database, node_id) for _ in range(3)]

    def talk(attempt: Attempt) -> None:
        for n in range(100):
            notes.note_line(attempt, line(n, monotonic(), "info", f"line {n}", {"n": n}))
            notes.note_progress(attempt, progress(monotonic(), n, 100, None))

    await asyncio.gather(*(asyncio.to_thread(talk, attempt) for attempt in attempts))
    await notes.written()
    for attempt in attempts:
        assert await said(database, attempt.job_id) == [f"line {n}" for n in range(100)]
    far = await read_progress(database, [attempt.job_id for attempt in attempts])
    assert [(row["done"], row["total"]) for row in far.values()] == [(99.0, 100.0)] * 3


async def test_lines_are_written_by_themselves_after_a_while(
    database: Database, node_id: UUID
) -> None:
    notes = TaskLogWriter(database)
    attempt = await begun(database, node_id)
    notes.note_line(attempt, line(0, monotonic(), "info", "hello", {}))
    await until_sql(database, "SELECT count(*) FROM windlass.job_log", seconds=20)
    assert await said(database, attempt.job_id) == ["hello"]


async def test_a_line_said_again_is_there_once_and_pages_follow_each_other(
    database: Database, node_id: UUID
) -> None:
    attempt = await begun(database, node_id)
    lines = [(attempt, line(n, monotonic(), "info", f"{n}", {})) for n in range(5)]
    for _ in range(2):
        await put_lines(database, lines, monotonic())
    first = await read_log(database, attempt.job_id, 3)
    last = (first[-1]["attempt"], first[-1]["place"])
    second = await read_log(database, attempt.job_id, 3, last)
    assert [row["message"] for row in [*first, *second]] == ["0", "1", "2", "3", "4"]


async def test_a_later_attempt_goes_on_and_an_older_one_is_not_heard_any_more(
    database: Database, node_id: UUID
) -> None:
    first = await begun(database, node_id)
    await end(database, node_id, first, Failed("ValueError", "no", retry_after_seconds=0.0))
    await database.run("job_promote_many", [first.job_id])
    [second] = await take(database, node_id)
    now = monotonic()
    await put_progress(database, [(second, progress(now, 2, None, "second"))], now)
    await put_progress(database, [(first, progress(now, 9, None, "first"))], now)
    assert (await read_progress(database, [first.job_id]))[first.job_id]["message"] == "second"
    for attempt in (second, first):
        await put_lines(database, [(attempt, line(0, now, "info", f"{attempt.number}", {}))], now)
    assert await said(database, first.job_id) == ["1", "2"]


async def test_notes_are_forgotten_with_their_job(database: Database, node_id: UUID) -> None:
    now = monotonic()
    gone, old = await begun(database, node_id), await begun(database, node_id)
    for attempt in (gone, old):
        await put_progress(database, [(attempt, progress(now, 1, None, None))], now)
        await put_lines(database, [(attempt, line(0, now, "info", "hello", {}))], now)
        await end(database, node_id, attempt)
    await delete(database, [gone.job_id])
    with pytest.raises(NotFound):
        await read_log(database, gone.job_id, 10)
    await put_progress(database, [(gone, progress(now, 1, None, None))], now)
    assert set(await read_progress(database, [gone.job_id, old.job_id])) == {old.job_id}
    # A negative retention: today is past it.
    await retain(database, -1)
    for table in ("job_history", "job_log", "job_progress"):
        assert not await value(database, f"SELECT count(*) FROM windlass.{table}")


async def test_what_a_node_keeps_of_them_is_bounded(database: Database, node_id: UUID) -> None:
    notes = TaskLogWriter(database)
    attempt = await begun(database, node_id)
    for n in range(NOTES_WAITING_MAX + 100):  # and the loop has no turn meanwhile
        notes.note_line(attempt, line(n % 900, monotonic(), "info", "x", {}))
    assert len(notes._lines) == NOTES_WAITING_MAX
    await notes.written()
    assert len(await said(database, attempt.job_id)) == 500


async def test_progress_whose_row_is_held_keeps_no_other_note(
    database: Database, node_id: UUID
) -> None:
    notes = TaskLogWriter(database)
    held, free = [await begun(database, node_id) for _ in range(2)]
    for attempt in (held, free):
        notes.note_progress(attempt, progress(monotonic(), 1, 10, None))
    await notes.written()
    user: Any = await asyncpg.connect(database.url)
    try:
        await user.execute("BEGIN")
        await user.execute(
            "SELECT FROM windlass.job_progress WHERE job_id = $1 FOR UPDATE", held.job_id
        )
        for attempt in (held, free):
            notes.note_progress(attempt, progress(monotonic(), 2, 10, None))
        notes.note_line(held, line(0, monotonic(), "info", "here", {}))
        await until_sql(database, "SELECT count(*) FROM windlass.job_progress WHERE done = 2")
        assert await said(database, held.job_id) == ["here"]
        assert await done(database, held, free) == [1, 2]
        await user.execute("COMMIT")
    finally:
        await user.close(timeout=5)
    await notes.written()
    assert await done(database, held, free) == [2, 2]


async def done(database: Database, *attempts: Attempt) -> list[float]:
    found = await read_progress(database, [attempt.job_id for attempt in attempts])
    return [found[attempt.job_id]["done"] for attempt in attempts]
