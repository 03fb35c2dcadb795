"""Receivers that take a job over: attempts that are awaited, and the tokens that complete them."""

from __future__ import annotations

from hashlib import sha256
from typing import Any
from uuid import UUID

from tests.engine.hands import end, register, sql, submit_one, take_one
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Awaited
from windlass.store.database import Database

TOKEN = "a token as a delivery would carry"


def awaited(token: str = TOKEN, patience_seconds: float = 600.0) -> Awaited:
    return Awaited(sha256(token.encode()).digest(), patience_seconds)


async def hand_over(
    database: Database, token: str = TOKEN, patience_seconds: float = 600.0, **fields: Any
) -> tuple[UUID, UUID, Attempt]:
    """A new job that its receiver has taken over: its id, the node that delivered it, the try."""
    job_id = await submit_one(database, **fields)
    node = await register(database)
    attempt = await take_one(database, node)
    attempt.detail = {"status_code": 202}
    finished = await end(database, node, attempt, awaited(token, patience_seconds))
    assert finished.awaited == {job_id}
    return job_id, node, attempt


async def be_late(database: Database) -> None:
    """Every receiver's time is over."""
    await sql(database, "UPDATE windlass.job SET callback_until = now() - interval '1 second'")
