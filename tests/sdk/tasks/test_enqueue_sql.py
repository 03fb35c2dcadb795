"""Jobs that are made inside the caller's own transaction: committed with it, gone with it.

Each kind of connection is a real one, to a real PostgreSQL; no node runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import psycopg
import psycopg.rows
import pytest
import sqlalchemy
import sqlalchemy.ext.asyncio
import sqlalchemy.orm

import windlass
from windlass.errors import InvalidInput
from windlass.ids import uuid7
from windlass.sdk.tasks.task import Bound
from windlass.store.database import Database
from windlass.testing.servers import PrivateServers

app = windlass.App("shop", url="http://127.0.0.1:1")  # nobody: SQL must be enough


@app.task(max_attempts=3)
def send(to: str, copies: int = 1) -> str:
    return to * copies


Mail = Bound[..., str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocking:
    connection: Any
    commit: Callable[[], object]
    rollback: Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    connection: Any
    commit: Callable[[], Awaitable[object]]
    rollback: Callable[[], Awaitable[object]]


def alchemy_url(database_url: str) -> str:
    return database_url.replace("postgresql://", "postgresql+psycopg://")


def open_psycopg(url: str, stack: ExitStack) -> Blocking:
    # Rows of another shape than ours.
    opened = stack.enter_context(psycopg.connect(url, row_factory=psycopg.rows.dict_row))
    return Blocking(connection=opened, commit=opened.commit, rollback=opened.rollback)


def open_alchemy(url: str, stack: ExitStack) -> Blocking:
    engine = sqlalchemy.create_engine(alchemy_url(url))
    stack.callback(engine.dispose)
    opened = stack.enter_context(engine.connect())
    return Blocking(connection=opened, commit=opened.commit, rollback=opened.rollback)


def open_session(url: str, stack: ExitStack) -> Blocking:
    engine = sqlalchemy.create_engine(alchemy_url(url))
    stack.callback(engine.dispose)
    opened = stack.enter_context(sqlalchemy.orm.Session(engine))
    return Blocking(connection=opened, commit=opened.commit, rollback=opened.rollback)


def open_scoped(url: str, stack: ExitStack) -> Blocking:
    engine = sqlalchemy.create_engine(alchemy_url(url))
    stack.callback(engine.dispose)
    scoped = sqlalchemy.orm.scoped_session(sqlalchemy.orm.sessionmaker(engine))
    stack.callback(scoped.remove)
    return Blocking(connection=scoped, commit=scoped.commit, rollback=scoped.rollback)


async def open_psycopg_async(url: str, stack: AsyncExitStack) -> Waiting:
    made = await psycopg.AsyncConnection.connect(url, row_factory=psycopg.rows.dict_row)
    opened = await stack.enter_async_context(made)
    return Waiting(connection=opened, commit=opened.commit, rollback=opened.rollback)


async def open_asyncpg(url: str, stack: AsyncExitStack) -> Waiting:
    opened = await asyncpg.connect(url)
    stack.push_async_callback(opened.close)
    # As many do, which must not touch what we send.
    await opened.set_type_codec(
        "jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog"
    )
    transaction = opened.transaction()
    await transaction.start()
    return Waiting(connection=opened, commit=transaction.commit, rollback=transaction.rollback)


async def open_pooled(url: str, stack: AsyncExitStack) -> Waiting:
    pool = await stack.enter_async_context(asyncpg.create_pool(url, min_size=1))
    opened = await stack.enter_async_context(pool.acquire())
    transaction = opened.transaction()
    await transaction.start()
    return Waiting(connection=opened, commit=transaction.commit, rollback=transaction.rollback)


async def open_alchemy_async(url: str, stack: AsyncExitStack) -> Waiting:
    engine = sqlalchemy.ext.asyncio.create_async_engine(alchemy_url(url))
    stack.push_async_callback(engine.dispose)
    opened = await stack.enter_async_context(engine.connect())
    return Waiting(connection=opened, commit=opened.commit, rollback=opened.rollback)


async def open_alchemy_asyncpg(url: str, stack: AsyncExitStack) -> Waiting:
    async def connect() -> asyncpg.Connection[Any]:
        return await asyncpg.connect(url)

    engine = sqlalchemy.ext.asyncio.create_async_engine(
        "postgresql+asyncpg://", async_creator=connect
    )
    stack.push_async_callback(engine.dispose)
    opened = await stack.enter_async_context(sqlalchemy.ext.asyncio.AsyncSession(engine))
    return Waiting(connection=opened, commit=opened.commit, rollback=opened.rollback)


BLOCKING = [open_psycopg, open_alchemy, open_session, open_scoped]
WAITING = [
    open_psycopg_async,
    open_asyncpg,
    open_pooled,
    open_alchemy_async,
    open_alchemy_asyncpg,
]


@pytest.fixture(scope="module")
async def database_url(servers: PrivateServers, template_url: str) -> str:
    """One for all of them: each test has a queue of its own."""
    return await servers.create_database(template_url)


@pytest.fixture(scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = Database(database_url, application="windlass test")
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def mail() -> Mail:
    return send.using(queue=f"mail-{uuid7().hex}")


@pytest.fixture(params=BLOCKING, ids=lambda opened: opened.__name__.removeprefix("open_"))
def blocking(request: pytest.FixtureRequest, database_url: str) -> Iterator[Blocking]:
    with ExitStack() as stack:
        yield request.param(database_url, stack)


@pytest.fixture(params=WAITING, ids=lambda opened: opened.__name__.removeprefix("open_"))
async def waiting(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[Waiting]:
    async with AsyncExitStack() as stack:
        yield await request.param(database_url, stack)


async def jobs_in(database: Database, mail: Mail) -> dict[str, Any]:
    """Of each committed job in that queue: how often it is tried, and its input."""
    query = "SELECT id, max_attempts, input FROM windlass.job WHERE queue = $1 ORDER BY id"

    async def read(connection: Any) -> Any:
        return await connection.fetch(query, mail.fields["queue"])

    return {
        f"job_{row['id'].hex}": (row["max_attempts"], json.loads(row["input"]))
        for row in await database.together(read)
    }


async def test_a_job_commits_with_its_callers_transaction(
    blocking: Blocking, database: Database, mail: Mail
) -> None:
    handle = mail.using(connection=blocking.connection).enqueue("ada", copies=2)
    assert await jobs_in(database, mail) == {}, "not before the caller commits"
    blocking.commit()
    wanted = (3, {"task": "send", "args": ["ada"], "kwargs": {"copies": 2}})
    assert await jobs_in(database, mail) == {handle.id: wanted}
    mail.using(connection=blocking.connection).enqueue("bob")
    blocking.rollback()
    assert list(await jobs_in(database, mail)) == [handle.id], "what was rolled back never was"


async def test_many_are_made_by_one_statement_in_their_order(
    blocking: Blocking, database: Database, mail: Mail
) -> None:
    handles = mail.using(connection=blocking.connection).map(["a", "b", "c"], copies=1)
    blocking.commit()
    found = await jobs_in(database, mail)
    assert [found[job_id][1]["args"] for job_id in handles.ids] == [["a"], ["b"], ["c"]]
    assert list(mail.using(connection=blocking.connection).map([])) == []


async def test_the_same_can_be_awaited(waiting: Waiting, database: Database, mail: Mail) -> None:
    bound = mail.using(connection=waiting.connection)
    handle = await bound.aenqueue("ada")
    handles = await bound.amap(["b", "c"])
    assert await jobs_in(database, mail) == {}
    await waiting.commit()
    assert sorted(await jobs_in(database, mail)) == sorted([handle.id, *handles.ids])


async def test_what_is_rolled_back_never_was(
    waiting: Waiting, database: Database, mail: Mail
) -> None:
    await mail.using(connection=waiting.connection).aenqueue("ada")
    await waiting.rollback()
    assert await jobs_in(database, mail) == {}


async def test_an_asynchronous_connection_is_not_for_code_that_blocks(waiting: Waiting) -> None:
    with pytest.raises(InvalidInput, match=r"is asynchronous; await task\.aenqueue") as refused:
        send.using(connection=waiting.connection).enqueue("ada")
    assert refused.value.problems[0].pointer == "/connection"
    with pytest.raises(InvalidInput, match="is asynchronous"):
        send.using(connection=waiting.connection).map(["a", "b"])
    await waiting.rollback()


async def test_code_that_awaits_may_use_a_connection_that_blocks(
    blocking: Blocking, database: Database, mail: Mail
) -> None:
    handle = await mail.using(connection=blocking.connection).aenqueue("ada")
    blocking.commit()
    assert list(await jobs_in(database, mail)) == [handle.id]


def test_what_is_no_connection_is_refused() -> None:
    for wrong in (object(), "postgresql://", 5):
        with pytest.raises(InvalidInput, match="is not a connection that is known; give psycopg"):
            send.using(connection=wrong).enqueue("ada")


def test_what_sql_refuses_is_an_error_of_its_library(database_url: str) -> None:
    with (
        psycopg.connect(database_url) as connection,
        pytest.raises(psycopg.errors.InvalidParameterValue, match="/queue: must be 1 to 128"),
    ):
        send.using(connection=connection, queue="no queue!").enqueue("ada")


async def test_a_full_queue_is_queue_full_in_a_transaction_too(
    blocking: Blocking, database: Database, mail: Mail
) -> None:
    await limited(database, mail, "max_jobs", 3)
    bound = mail.using(connection=blocking.connection)
    bound.map(["a", "b"])
    blocking.commit()
    with pytest.raises(windlass.QueueFull, match="holds 3 of 3 jobs and 1 more") as refused:
        bound.map(["c", "d"])
    full = refused.value
    assert (full.limit, full.current, full.requested, full.unit) == (3, 3, 1, "jobs")
    assert (full.queue, full.retry_after) == (mail.fields["queue"], 5)
    assert "savepoint" in full.__notes__[0]
    assert full.__cause__ is not None
    blocking.rollback()
    assert len(await jobs_in(database, mail)) == 2


async def test_so_it_is_for_code_that_awaits(
    waiting: Waiting, database: Database, mail: Mail
) -> None:
    await limited(database, mail, "max_bytes", 10)
    with pytest.raises(windlass.QueueFull) as refused:
        await mail.using(connection=waiting.connection).aenqueue("a" * 100)
    assert (refused.value.limit, refused.value.unit) == (10, "bytes")
    await waiting.rollback()


async def limited(database: Database, mail: Mail, limit: str, value: float) -> None:
    async def write(connection: Any) -> Any:
        query = f"INSERT INTO windlass.queue (name, {limit}) VALUES ($1, $2)"
        return await connection.fetch(query, mail.fields["queue"], value)

    await database.together(write)


async def test_a_key_is_one_job_in_sql_too(
    database_url: str, database: Database, mail: Mail
) -> None:
    with psycopg.connect(database_url) as connection:
        bound = mail.using(connection=connection, key="order-42", run_after="1h")
        assert bound.enqueue("ada") == bound.enqueue("bob")
    assert len(await jobs_in(database, mail)) == 1


DJANGO = """
import json, sys
import django
from django.conf import settings
settings.configure(DATABASES={"default": json.loads(sys.argv[1]), "lite": {
    "ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})
django.setup()
from django.db import connection, connections, transaction
import windlass
from windlass.errors import InvalidInput
app = windlass.App("shop", url="http://127.0.0.1:1")
@app.task(queue="django")
def send(to: str) -> str:
    return to
with transaction.atomic():
    kept = send.using(connection=connection).enqueue("ada")
try:
    with transaction.atomic():
        send.using(connection=connections["default"]).enqueue("bob")
        raise KeyError
except KeyError:
    pass
with transaction.atomic():
    many = send.using(connection=connections["default"]).map(["c", "d"])
try:
    send.using(connection=connections["lite"]).enqueue("eve")
except InvalidInput as refused:
    print(refused)
print(kept.id, *many.ids)
"""


def django_settings(database_url: str) -> dict[str, str]:
    parts = urlsplit(database_url)
    host = parse_qs(parts.query).get("host", [parts.hostname or ""])[0]
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/"),
        "USER": parts.username or "",
        "PASSWORD": parts.password or "",
        "HOST": host,
        "PORT": str(parts.port or parse_qs(parts.query).get("port", [""])[0]),
    }


async def test_a_django_transaction_takes_its_jobs_along(
    database_url: str, database: Database
) -> None:
    told = subprocess.run(  # noqa: ASYNC221 (nothing else runs here)
        [sys.executable, "-c", DJANGO, json.dumps(django_settings(database_url))],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout.splitlines()
    assert told[0] == "/connection: this database is sqlite; Windlass lives in PostgreSQL"
    found = await jobs_in(database, send.using(queue="django"))
    assert sorted(found) == sorted(told[1].split())


async def test_a_queue_that_takes_jobs_slowly_is_queue_rate_in_a_transaction_too(
    blocking: Blocking, database: Database, mail: Mail
) -> None:
    await limited(database, mail, "submit_rate", 0.01)
    bound = mail.using(connection=blocking.connection)
    bound.enqueue("a")
    blocking.commit()
    with pytest.raises(windlass.QueueRate, match="jobs a second") as refused:
        bound.enqueue("b")
    slow = refused.value
    assert (slow.limit, slow.current, slow.requested, slow.unit) == (0.01, 1, 1, "jobs/s")
    assert (slow.queue, slow.retry_after) == (mail.fields["queue"], 100)
    blocking.rollback()
