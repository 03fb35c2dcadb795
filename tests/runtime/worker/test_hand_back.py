"""What a node has claimed and does not run goes back, whoever holds a row of it."""

from __future__ import annotations

import asyncio
from uuid import UUID

from tests.engine.hands import noop, sql, states, submit, take, until_sql
from tests.runtime.worker.test_finisher import Node, database, finisher_url, node, open_transaction
from windlass.engine.jobs.claim import find_claimed
from windlass.runtime.worker.hand_back import HandBack
from windlass.store.database import Database, Record

__all__ = ["database", "finisher_url", "node"]

HOLD = "SELECT FROM windlass.job WHERE id = $1 FOR UPDATE"
IS_QUEUED = "SELECT state = 'queued' AND attempt = 0 FROM windlass.job WHERE id = $1"
# Nobody waits for a held row here; what is slower is a busy machine.
SLACK_SECONDS = 20.0


async def test_a_job_that_somebody_holds_keeps_no_other_from_going_back(
    database: Database, node: Node
) -> None:
    made = await submit(database, *[noop()] * 3)
    attempts = await take(database, node.node_id)
    told: list[UUID] = []
    hand_back = HandBack(database, node.finisher, lambda rows: told.extend(_ids(rows)))
    async with open_transaction(database, HOLD, made[0]):
        async with asyncio.timeout(SLACK_SECONDS):
            await hand_back.release(attempts)
        assert await states(database, made) == ["running", "queued", "queued"]
        assert set(told) == set(made[1:])
        assert {job_id for job_id, _ in hand_back.fences} == {made[0]}, "it is in hand still"
    await until_sql(database, IS_QUEUED, made[0], seconds=SLACK_SECONDS)
    await node.quiet()
    assert await states(database, made) == ["queued"] * 3, "none was taken for cancelled"


async def test_a_job_that_somebody_holds_keeps_no_other_from_being_parked(
    database: Database, node: Node
) -> None:
    made = await submit(database, *[noop(target="a.example:443")] * 2)
    attempts = await take(database, node.node_id)
    hand_back = HandBack(database, node.finisher, lambda _: None)
    parked = "SELECT parked_for = 'rate' FROM windlass.job WHERE id = $1"
    async with open_transaction(database, HOLD, made[0]):
        async with asyncio.timeout(SLACK_SECONDS):
            await hand_back.park(attempts, ["rate", "rate"], lambda: None)
        await until_sql(database, parked, made[1], seconds=SLACK_SECONDS)
        assert await states(database, made) == ["running", "queued"]
    await until_sql(database, parked, made[0], seconds=SLACK_SECONDS)
    await node.quiet()
    assert await states(database, made) == ["queued"] * 2


async def test_of_claims_that_nobody_knows_of_what_is_held_is_left_and_the_others_go_back(
    database: Database, node: Node
) -> None:
    made = await submit(database, *[noop()] * 2)
    await take(database, node.node_id)
    hand_back = HandBack(database, node.finisher, lambda _: None)
    async with open_transaction(database, HOLD, made[0]):
        async with asyncio.timeout(SLACK_SECONDS):
            await hand_back.release_rows(await find_claimed(database, node.node_id, 0.0))
        assert await states(database, made) == ["running", "queued"]
    await node.quiet()
    await hand_back.release_rows(await find_claimed(database, node.node_id, 0.0))
    assert await states(database, made) == ["queued"] * 2


async def test_what_was_asked_to_stop_ends_and_does_not_go_back(
    database: Database, node: Node
) -> None:
    made = await submit(database, *[noop()] * 2)
    attempts = await take(database, node.node_id)
    await sql(
        database, "UPDATE windlass.job SET cancel_requested_at = now() WHERE id = $1", made[0]
    )
    hand_back = HandBack(database, node.finisher, lambda _: None)
    await hand_back.release(attempts)
    await node.quiet()
    assert await states(database, made) == ["cancelled", "queued"]


def _ids(rows: list[Record]) -> list[UUID]:
    return [row["id"] for row in rows]
