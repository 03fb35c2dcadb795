"""Why a job does not run, and why it did not: each gate in words, none against another."""

from __future__ import annotations

from uuid import UUID

from tests.engine.hands import end, noop, register, sql, submit, take_one
from windlass import ids
from windlass.engine.jobs.queues import pause_queue
from windlass.engine.jobs.why import explain
from windlass.model.job.draft import Draft
from windlass.model.job.outcome import Failed, Snoozed
from windlass.store.database import Database


async def reasons(database: Database, job_id: UUID) -> dict[str, str]:
    return {gate.gate: gate.reason for gate in (await explain(database, job_id)).gates}


async def serving(
    database: Database, queues: list[str] | None = None, tasks: list[str] | None = None
) -> UUID:
    node = await register(database)
    await sql(
        database,
        "UPDATE windlass.node SET queues = $2, tasks = $3, kinds = '{noop,python}' WHERE id = $1",
        node,
        queues,
        tasks or [],
    )
    return node


async def test_a_dead_job_says_its_error_and_what_to_do(database: Database) -> None:
    [job_id] = await submit(database, noop(max_attempts=1))
    node = await register(database)
    await end(database, node, await take_one(database, node), Failed("http 503", "it is down"))
    why = await explain(database, job_id)
    assert why.summary == "it has ended as dead (http 503) after 1 attempt"
    told = {gate.gate: gate.reason for gate in why.gates}
    assert told["error"] == "it is down"
    assert told["remedy"] == (
        "when the receiver answers with a success, try it again: "
        f"windlass job retry {ids.show('job', job_id)}; "
        "all that died of it: windlass dead replay --cause 'http 503'"
    )


async def test_who_asked_to_go_on_later_is_not_said_to_have_failed(database: Database) -> None:
    [job_id] = await submit(database, noop())
    node = await register(database)
    await end(database, node, await take_one(database, node), Failed("Odd", "at first"))
    await sql(database, "UPDATE windlass.job SET run_at = now()")
    await end(database, node, await take_one(database, node), Snoozed(600))
    told = await reasons(database, job_id)
    assert told == {"snoozed": "attempt 2 asked to go on later"}


async def test_a_queue_that_nobody_serves_is_all_there_is_to_say(database: Database) -> None:
    await serving(database, queues=["mail"])
    made = await submit(database, *(noop(queue="mial") for _ in range(3)))
    assert await reasons(database, made[-1]) == {
        "not_served": "no live node serves queue 'mial' (did you mean 'mail'?); nodes serve: mail"
    }


async def test_a_task_that_nobody_has_is_all_there_is_to_say(database: Database) -> None:
    await serving(database, tasks=["send_mail", "send_sms"])
    made = await submit(
        database,
        *(Draft(kind="python", task="send_mial", input='{"task":"send_mial"}') for _ in range(3)),
    )
    assert await reasons(database, made[-1]) == {
        "unknown_task": "no live node has the task 'send_mial' (did you mean 'send_mail'?); "
        "nodes know: send_mail, send_sms"
    }


async def test_of_the_nodes_only_those_that_serve_its_queue_count(database: Database) -> None:
    await serving(database, queues=["mail"], tasks=["send"])
    await serving(database, queues=["reports"], tasks=[])
    [job_id] = await submit(
        database, Draft(kind="python", task="send", input='{"task":"send"}', queue="mail")
    )
    assert await reasons(database, job_id) == {}
    await pause_queue(database, "mail")
    assert await reasons(database, job_id) == {
        "paused": "queue 'mail' is paused; resume it to go on"
    }
