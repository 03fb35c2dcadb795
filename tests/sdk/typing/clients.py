"""A user's scripts against the API."""

from __future__ import annotations

from typing import Any, assert_type

import windlass


def script() -> None:
    with windlass.Client("http://127.0.0.1:5777", token="wlk_0") as client:
        job = client.jobs.submit(kind="http", input={"url": "https://example.org"}, queue="mail")
        assert_type(job, dict[str, Any])
        assert_type(client.jobs.wait(job["id"], 5.0), dict[str, Any])
        for dead in client.dead_letters.list(queue="mail"):
            print(dead["id"])
        client.executions.start("fulfil", {"order": 1})


async def service() -> None:
    async with windlass.AsyncClient() as client:
        made = await client.jobs.submit_many([{"kind": "noop"}] * 3)
        assert_type(made, list[dict[str, Any]])
        async for job in client.jobs.list(state="dead"):
            print(job["id"])
        try:
            await client.jobs.cancel(made[0]["id"])
        except windlass.Conflict as conflict:
            print(conflict)
