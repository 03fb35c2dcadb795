"""A user's scripts against the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any, assert_type

import windlass


def script() -> None:
    with windlass.Client("http://127.0.0.1:5777", token="wlk_0") as client:
        job = client.jobs.submit(kind="http", input={"url": "https://example.org"}, queue="mail")
        assert_type(job, windlass.Job)
        assert_type(client.jobs.wait(job["id"], 5.0), windlass.Job)
        assert_type((job.state, job.created_at), tuple[str, datetime])
        assert_type(job["created_at"], Any)
        as_before: dict[str, Any] = job
        print(as_before)
        for dead in client.dead_letters.list(queue="mail"):
            print(dead["id"])
            assert_type(dead.finished_at, datetime | None)
        execution = client.executions.start("fulfil", {"order": 1})
        assert_type(execution.workflow, str)
        with client.lock("deploy", ttl=30, wait="10s", capacity=1) as lock:
            assert_type((lock.token, lock.is_held, lock.lost.is_set()), tuple[int, bool, bool])


async def service() -> None:
    async with windlass.AsyncClient() as client:
        made = await client.jobs.submit_many([{"kind": "noop"}] * 3)
        assert_type(made[0].id, str)
        async for job in client.jobs.list(state="dead"):
            assert_type(job, windlass.Job)
            assert_type(job.error.message if job.error else None, str | None)
        async with client.lock("deploy") as lock:
            lock.check()
        try:
            await client.jobs.cancel(made[0]["id"])
        except windlass.Conflict as conflict:
            print(conflict)
