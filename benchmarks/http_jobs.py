"""Webhooks as they are submitted over HTTP, and when they have all ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg
import msgspec

from benchmarks.node import RunningNode
from benchmarks.rows import PAYLOAD
from benchmarks.traffic.submitter import Submitter, connect
from benchmarks.until import until

ONE, MANY = "/v1/jobs", "/v1/jobs/batch"
LEFT = "SELECT EXISTS (SELECT FROM windlass.job)"


def job(url: str, **more: Any) -> dict[str, Any]:
    return {"kind": "http", "input": {"url": url, "json": PAYLOAD}, **more}


async def submit_many(submitter: Submitter, jobs: Sequence[dict[str, Any]]) -> None:
    await submitter.submit(MANY, msgspec.json.encode({"jobs": jobs}))


async def run_all(
    node: RunningNode, eye: asyncpg.Connection, jobs: Sequence[dict[str, Any]]
) -> None:
    """Submit them at once and wait until each has ended."""
    submitter = await connect(node.address, node.headers)
    try:
        await submit_many(submitter, jobs)
    finally:
        submitter.transport.abort()

    async def have_all_ended() -> bool:
        return not await eye.fetchval(LEFT)

    await until(have_all_ended)
