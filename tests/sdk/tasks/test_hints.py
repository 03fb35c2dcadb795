"""Jobs enqueued in the caller's transaction: the nodes are told after its commit, where the
library says when that is, and by `hint()` where it does not. Never otherwise, and never in the way.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from uuid import uuid4

import psycopg
import pytest
import sqlalchemy.ext.asyncio

import windlass
from tests.cli.peer import Call, Peer, Says
from tests.sdk import sample_app
from tests.sdk.conftest import Server
from tests.sdk.tasks.test_enqueue_sql import (
    Blocking,
    alchemy_url,
    django_settings,
    open_scoped,
    open_session,
)
from tests.until import until
from windlass.clock import monotonic
from windlass.sdk.limits import HINT_SECONDS
from windlass.sdk.tasks.app import App
from windlass.sdk.tasks.task import Task
from windlass.testing.servers import PrivateServers

Open = Callable[[str, ExitStack], Blocking]


@pytest.fixture(scope="module")
async def database_url(servers: PrivateServers, template_url: str) -> str:
    return await servers.create_database(template_url)


@pytest.fixture
def send(peer: Peer) -> Iterator[Task[[str], str]]:
    """A task whose App talks to the peer, which hears the hints."""
    peer.answer(Says(status=204))
    app = windlass.App("shop", url=peer.url)

    @app.task
    def mail(to: str) -> str:
        return to

    yield mail
    app.blocking.close()


def hinted(peer: Peer) -> list[str]:
    """Ids in the order in which they were told."""
    return [job_id for call in list(peer.calls) for job_id in ids_of(call)]


def ids_of(call: Call) -> list[str]:
    assert (call.method, call.path) == ("POST", "/v1/jobs/hint")
    assert "idempotency-key" not in call.headers, "not worth a record"
    ids: list[str] = call.json["ids"]
    return ids


async def until_hinted(peer: Peer, ids: list[str]) -> None:
    """These and no others: what was to be told before the last of them has been told by then."""

    async def is_so() -> bool:
        return ids[-1] in hinted(peer)

    await until(is_so, what="the hint")
    assert sorted(hinted(peer)) == sorted(ids)


@pytest.mark.parametrize("opened", [open_session, open_scoped])
async def test_a_session_tells_the_nodes_after_its_commit_and_only_then(
    peer: Peer, send: Task[[str], str], database_url: str, opened: Open
) -> None:
    with ExitStack() as stack:
        session = opened(database_url, stack)
        bound = send.using(connection=session.connection)
        bound.enqueue("gone")
        session.rollback()
        first, second = bound.enqueue("ada"), bound.map(["bob", "eve"])
        assert hinted(peer) == []
        session.commit()
        bound.enqueue("closed")
        session.rollback()
        last = bound.enqueue("zoe")
        session.commit()
    await until_hinted(peer, [first.id, *second.ids, last.id])


async def test_a_savepoint_that_was_rolled_back_is_not_told_of(
    peer: Peer, send: Task[[str], str], database_url: str
) -> None:
    with ExitStack() as stack:
        session = open_session(database_url, stack).connection
        bound = send.using(connection=session)
        kept = [bound.enqueue("outside").id]
        with session.begin_nested():
            kept.append(bound.enqueue("inside").id)
            with session.begin_nested():
                kept.append(bound.enqueue("further inside").id)
            assert hinted(peer) == [], "a savepoint's release is no commit"
        with session.begin_nested() as point:
            with session.begin_nested():
                bound.enqueue("released into what is rolled back")
            bound.enqueue("rolled back")
            point.rollback()
        session.commit()
        kept.append(bound.enqueue("last").id)
        session.commit()
    await until_hinted(peer, kept)


async def test_an_asynchronous_session_tells_them_too(
    peer: Peer, send: Task[[str], str], database_url: str
) -> None:
    engine = sqlalchemy.ext.asyncio.create_async_engine(alchemy_url(database_url))
    try:
        async with sqlalchemy.ext.asyncio.AsyncSession(engine) as session:
            async with session.begin():
                first = await send.using(connection=session).aenqueue("ada")
            await send.using(connection=session).aenqueue("gone")
            await session.rollback()
            making = sqlalchemy.ext.asyncio.async_sessionmaker(engine)
            scoped = sqlalchemy.ext.asyncio.async_scoped_session(making, lambda: 1)
            last = await send.using(connection=scoped).aenqueue("zoe")
            await scoped.commit()
            await scoped.remove()
    finally:
        await engine.dispose()
    await until_hinted(peer, [first.id, last.id])


async def test_where_the_library_does_not_tell_one_says_it_oneself(
    peer: Peer, send: Task[[str], str], database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        bound = send.using(connection=connection)
        many = bound.map(["ada", "bob"])
        one = bound.enqueue("eve")
    assert hinted(peer) == []
    many.hint()
    one.hint()
    await until_hinted(peer, [*many.ids, one.id])


DJANGO = """
import json, sys
import django
from django.conf import settings
settings.configure(DATABASES={"default": json.loads(sys.argv[1])})
django.setup()
from django.db import connection, transaction
import windlass
from windlass.sdk.http import portal
portal.CLOSE_SECONDS = 60.0  # for its last words, should who hears them be paused
app = windlass.App("shop")
@app.task(queue="django")
def send(to: str) -> str:
    return to
bound = send.using(connection=connection)
with transaction.atomic():
    kept = [bound.enqueue("ada").id]
    with transaction.atomic():
        kept.append(bound.enqueue("in a savepoint").id)
    try:
        with transaction.atomic():
            bound.enqueue("gone")
            raise KeyError
    except KeyError:
        pass
try:
    with transaction.atomic():
        bound.enqueue("gone too")
        raise KeyError
except KeyError:
    pass
kept.append(bound.enqueue("committed by itself").id)
transaction.set_autocommit(False)
bound.enqueue("by hand: nobody says when")
transaction.commit()
print(*kept)
"""


async def test_a_django_transaction_tells_the_nodes_even_of_a_program_that_ends(
    peer: Peer, database_url: str
) -> None:
    peer.answer(Says(status=204))
    told = subprocess.run(  # noqa: ASYNC221 (the peer has a thread of its own)
        [sys.executable, "-W", "error", "-c", DJANGO, json.dumps(django_settings(database_url))],
        env={**os.environ, "WINDLASS_URL": peer.url},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert told.stderr == ""
    assert sorted(hinted(peer)) == sorted(told.stdout.split())


def test_nobody_who_answers_delays_or_fails_no_commit(database_url: str) -> None:
    """A server that takes the connection and says nothing; one that refuses; none at all."""
    with socket.create_server(("127.0.0.1", 0)) as silent, ExitStack() as stack:
        port = silent.getsockname()[1]
        for url in (f"http://127.0.0.1:{port}", "http://127.0.0.1:1", "http://x.invalid"):
            app = windlass.App("shop", url=url)
            stack.callback(app.blocking.close)
            bound = app.task(name="mail")(str).using(queue=f"q-{uuid4().hex}")
            session = open_session(database_url, stack)
            begun = monotonic()
            for _ in range(100):
                bound.using(connection=session.connection).enqueue("ada")
                session.commit()
            # A hundred answers waited for would be a hundred times HINT_SECONDS.
            assert monotonic() - begun < 50 * HINT_SECONDS


async def test_a_task_tells_them_of_what_its_own_transaction_enqueued(
    sample: App, server: Server
) -> None:
    """And the jobs are really done: the node hears its own API."""
    made = await sample_app.passed_on.aenqueue(3)
    inner = await made.aresult(timeout=60)
    done = await sample.client.jobs.wait(inner, 60)
    assert (done["state"], done["result"]) == ("succeeded", 7)


async def test_a_commit_in_a_session_is_heard_by_a_real_node(sample: App, server: Server) -> None:
    with ExitStack() as stack:
        session = open_session(server.database_url, stack)
        handle = sample_app.add.using(connection=session.connection).enqueue(2, 3)
        session.commit()
    assert await handle.aresult(timeout=60) == 5
