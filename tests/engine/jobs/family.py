"""Jobs that wait for one another."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from tests.engine.hands import sql, take
from windlass.model.job.attempt import Attempt
from windlass.model.job.draft import OnParentFailure
from windlass.store.database import Database


def after(*places: int, policy: OnParentFailure = "skip") -> dict[str, Any]:
    """The fields of a draft that waits for these places of its batch."""
    return {"depends_on_places": places, "on_parent_failure": policy}


async def take_all(database: Database, node: UUID) -> dict[UUID, Attempt]:
    return {attempt.job_id: attempt for attempt in await take(database, node)}


async def no_links(database: Database) -> bool:
    return await sql(database, "SELECT FROM windlass.dependency") == []
