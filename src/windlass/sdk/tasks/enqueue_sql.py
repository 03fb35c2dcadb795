"""Enqueue inside the caller's own transaction: the job commits with it, or never was.

Connections are recognised by what they are made of, without importing the library: psycopg
(sync and async), asyncpg, SQLAlchemy (Connection, Session and their async twins), Django's, and the
`db` of a running task. Nothing is ever committed here; where the library tells when it was, the
nodes are told of the jobs then (see after_commit).
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import msgspec

from windlass.errors import InvalidInput, QueueFull, QueueRate
from windlass.sdk.tasks.after_commit import after_commit
from windlass.sdk.tasks.job_body import Job

# windlass.enqueue for each job of a JSON array, in its order: one round trip, however many.
# Text first: whatever codec the caller's connection has for jsonb, it never sees the value.
_ENQUEUE: Final = (
    "SELECT windlass.enqueue(given.job) AS id"
    " FROM jsonb_array_elements(CAST(CAST({} AS text) AS jsonb)) WITH ORDINALITY AS given(job, n)"
    " ORDER BY given.n"
)
_KNOWN: Final = "psycopg, asyncpg, SQLAlchemy, Django, or windlass.current().db"


# As windlass.refuse_beyond says it.
_FULL: Final = re.compile(
    r"windlass: queue_full: queue (.+?) holds (\d+) of (\d+|any number of) jobs,"
    r" (\d+) of (\d+|any number of) bytes"
)
_TOO_QUICK: Final = re.compile(
    r"windlass: queue_rate: queue (.+?) takes ([0-9.e+-]+) jobs a second, has taken (\d+) of \d+"
    r" and is asked for (\d+)"
)

Tell = Callable[[list[str]], None]
Make = Callable[[bytes], Job]  # the job of an input


def enqueue_in(connection: Any, inputs: list[bytes], make: Make, tell: Tell) -> list[str]:
    """The ids of the jobs that there will be; `tell` is called with them after the commit, if that
    is known. Raises InvalidInput for an async connection, QueueFull, QueueRate.
    """
    if not inputs:
        return []
    family, is_async = _recognised(connection)
    if is_async:
        raise InvalidInput.at(
            "/connection", f"{_name_of(connection)} is asynchronous; await task.aenqueue(…) instead"
        )
    with refusals_of(inputs):
        made = _ids(_run(family, connection, _text_of(inputs, make)))
    after_commit(family, connection, partial(tell, made))
    return made


async def aenqueue_in(connection: Any, inputs: list[bytes], make: Make, tell: Tell) -> list[str]:
    """The same. A connection that blocks is used as it is, and blocks."""
    if not inputs:
        return []
    family, is_async = _recognised(connection)
    text = _text_of(inputs, make)
    with refusals_of(inputs):
        made = _ids(
            await _arun(family, connection, text) if is_async else _run(family, connection, text)
        )
    after_commit(family, connection, partial(tell, made))
    return made


@contextlib.contextmanager
def refusals_of(inputs: list[bytes]) -> Iterator[None]:
    """A full queue is QueueFull here too, and one that takes no more jobs at this moment QueueRate,
    whatever the caller's library makes of it.
    """
    try:
        yield
    except Exception as refused:
        full = _queue_full(refused, inputs) or _queue_rate(refused)
        if full is None:
            raise
        raise full from refused


def _queue_full(refused: BaseException, inputs: list[bytes]) -> QueueFull | None:
    """None: it was refused for something else. Jobs are taken one by one, and those before the one
    that was refused are among those that the queue holds; which one it was is not told.
    """
    said = _FULL.search(str(refused))
    if said is None:
        return None
    queue, jobs, jobs_max, held_bytes, bytes_max = said.groups()
    is_by_jobs = jobs_max.isdigit() and int(jobs) >= int(jobs_max)
    full = QueueFull(
        queue=queue,
        limit=int(jobs_max if is_by_jobs else bytes_max),
        current=int(jobs if is_by_jobs else held_bytes),
        requested=1 if is_by_jobs else max(map(len, inputs)),
        unit="jobs" if is_by_jobs else "bytes",
    )
    full.add_note(
        "windlass: jobs of this transaction count too; it is given up by PostgreSQL, so roll it "
        "back, or to a savepoint, and try again later; over HTTP, wait_for_room= waits for room"
    )
    return full


def _queue_rate(refused: BaseException) -> QueueRate | None:
    """None: it was refused for something else."""
    said = _TOO_QUICK.search(str(refused))
    if said is None:
        return None
    queue, rate, current, requested = said.groups()
    return QueueRate(
        queue=queue,
        limit=float(rate),
        current=int(current),
        requested=int(requested),
        wait_seconds=int(requested) / float(rate),
    )


def _text_of(inputs: list[bytes], make: Make) -> str:
    return msgspec.json.encode([make(given) for given in inputs]).decode()


def _recognised(connection: Any) -> tuple[str, bool]:
    """Whose it is, and whether it is asynchronous."""
    for kind in type(connection).__mro__:
        family = kind.__module__.partition(".")[0]
        if family == "psycopg":
            return family, kind.__name__.startswith("Async")
        if family == "sqlalchemy":
            return family, ".asyncio." in kind.__module__
        if family == "asyncpg":
            return family, True
        if family == "django":
            _check_django(connection)
            return family, False
        if family == "windlass" and hasattr(connection, "fetchval"):
            return "windlass", _is_in_loop()
    raise InvalidInput.at(
        "/connection", f"{_name_of(connection)} is not a connection that is known; give {_KNOWN}"
    )


def _check_django(connection: Any) -> None:
    vendor = getattr(connection, "vendor", None)  # also of the proxy django.db.connection
    if vendor != "postgresql":
        raise InvalidInput.at(
            "/connection", f"this database is {vendor}; Windlass lives in PostgreSQL"
        )


def _run(family: str, connection: Any, text: str) -> list[Any]:
    match family:
        case "psycopg":
            # Whatever rows the caller likes: ours are tuples.
            with connection.cursor(row_factory=sys.modules["psycopg.rows"].tuple_row) as cursor:
                return list(cursor.execute(_ENQUEUE.format("%s"), [text]).fetchall())
        case "sqlalchemy":
            return list(connection.execute(_sqlalchemy_text(), {"jobs": text}).all())
        case "windlass":
            return list(connection.fetch(_ENQUEUE.format("$1"), text))
        case _:
            with connection.cursor() as cursor:
                cursor.execute(_ENQUEUE.format("%s"), [text])
                return list(cursor.fetchall())


async def _arun(family: str, connection: Any, text: str) -> list[Any]:
    match family:
        case "psycopg":
            rows = sys.modules["psycopg.rows"].tuple_row
            async with connection.cursor(row_factory=rows) as cursor:
                await cursor.execute(_ENQUEUE.format("%s"), [text])
                return list(await cursor.fetchall())
        case "sqlalchemy":
            return list((await connection.execute(_sqlalchemy_text(), {"jobs": text})).all())
        case _:
            return list(await connection.fetch(_ENQUEUE.format("$1"), text))


def _sqlalchemy_text() -> Any:
    # Who has such a connection has imported it.
    return sys.modules["sqlalchemy"].text(_ENQUEUE.format(":jobs"))


def _ids(rows: list[Any]) -> list[str]:
    return [row[0] for row in rows]


def _name_of(connection: Any) -> str:
    return f"{type(connection).__module__}.{type(connection).__name__}"


def _is_in_loop() -> bool:
    """As the `db` of a task itself decides whether to block."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
