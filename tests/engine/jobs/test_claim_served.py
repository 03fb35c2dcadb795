"""A node takes what it serves and can perform; the rest is left alone, without an attempt."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID

from tests.engine.hands import noop, register, row, sql, submit
from windlass.engine.jobs.claim import Frontier, claim, claim_solo, peek
from windlass.engine.jobs.queues import QueueLimits, put_queue
from windlass.limits import CRASHES_SOLO
from windlass.model.cluster.served import ServedWork, read_served_queues
from windlass.model.job.draft import Draft
from windlass.store.database import Database


def python(task: str, **fields: Any) -> Draft:
    return Draft(kind="python", input=f'{{"task":"{task}"}}', task=task, **fields)


def of_tasks(*tasks: str, **fields: Any) -> ServedWork:
    return ServedWork(kinds=["noop", "python"], tasks=list(tasks), **fields)


async def takes(database: Database, node: UUID, served: ServedWork, most: int = 100) -> list[UUID]:
    frontier = Frontier(served)
    await peek(database, frontier)
    return [attempt.job_id for attempt in await claim(database, node, frontier, most)]


async def test_a_job_says_which_task_it_is_of(database: Database) -> None:
    [job_id] = await submit(database, python("send"))
    assert (await row(database, job_id))["task"] == "send"
    frontier = Frontier()
    await peek(database, frontier)
    [attempt] = await claim(database, await register(database), frontier, 1)
    assert attempt.task == "send"


async def test_what_comes_by_sql_says_it_too(database: Database) -> None:
    for given, task in (
        ('{"kind": "python", "input": {"task": "send"}}', "send"),
        ('{"kind": "python", "input": {"task": 7}}', None),
        ('{"kind": "noop", "input": {"task": "send"}}', None),
    ):
        [made] = await sql(database, "SELECT windlass.enqueue($1::jsonb) AS id", given)
        [found] = await sql(
            database,
            "SELECT task FROM windlass.job WHERE id = substr($1::text, 5)::uuid",
            made["id"],
        )
        assert found["task"] == task


async def test_a_node_without_the_task_never_takes_it(database: Database) -> None:
    made = await submit(database, *(python(name) for name in ("a", "b") * 10), noop())
    node = await register(database)
    assert set(await takes(database, node, of_tasks("b"))) == {*made[1::2], made[-1]}
    assert await takes(database, node, of_tasks("b")) == []
    assert set(await takes(database, node, of_tasks("a"))) == set(made[0:-1:2])
    [attempts] = await sql(database, "SELECT max(attempt) AS most FROM windlass.job")
    assert attempts["most"] == 1


async def test_a_kind_that_a_node_does_not_perform_is_left_to_others(database: Database) -> None:
    [sms] = await submit(database, Draft(kind="sms"))
    node = await register(database)
    assert await takes(database, node, of_tasks()) == []
    assert await takes(database, node, ServedWork(kinds=["sms"], tasks=[])) == [sms]


async def test_jobs_of_strangers_in_front_hide_nobody(database: Database) -> None:
    await submit(database, *[python("theirs")] * 700)
    mine = await submit(database, *[python("mine")] * 3)
    node, frontier = await register(database), Frontier(of_tasks("mine"))
    await peek(database, frontier)
    taken = [(await claim(database, node, frontier, 1))[0].job_id for _ in mine]
    assert taken == mine
    assert await claim(database, node, frontier, 1) == []
    assert frontier.since == {}, "what is left is not for this node"


async def test_a_node_that_waits_for_its_task_is_told_when_it_is_due(database: Database) -> None:
    await submit(database, python("theirs"), python("mine", delay_seconds=60))
    frontier = Frontier(of_tasks("mine"))
    await peek(database, frontier)
    assert frontier.since == {}
    assert frontier.next_due_at is not None
    assert frontier.next_due_at > frontier.now()


async def test_queues_that_a_node_does_not_serve_are_not_looked_at(database: Database) -> None:
    made = await submit(database, *(noop(queue=name) for name in ("mail", "reports", "slow")))
    node = await register(database)
    frontier = Frontier(ServedWork(queues=read_served_queues(["mail"])))
    frontier.note(("reports", 1), frontier.now())
    assert frontier.since == {}, "a hint of another queue says nothing"
    mail = ServedWork(queues=read_served_queues(["mail"]))
    assert await takes(database, node, mail) == [made[0]]
    fast = ServedWork(queues=read_served_queues(excluded=["slow"]))
    assert await takes(database, node, fast) == [made[1]]
    assert await takes(database, node, ServedWork()) == [made[2]]


async def test_a_limited_queue_gives_its_room_to_who_has_the_task(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_running=1))
    [_, mine] = await submit(
        database, python("theirs", queue="narrow"), python("mine", queue="narrow")
    )
    node = await register(database)
    assert await takes(database, node, of_tasks("mine")) == [mine]
    assert await takes(database, node, of_tasks("theirs")) == [], "it is full"


async def test_a_suspect_is_taken_by_who_serves_it(database: Database) -> None:
    [suspect] = await submit(database, python("mine", queue="mail"))
    await sql(database, "UPDATE windlass.job SET crashes = $1", CRASHES_SOLO)
    node = await register(database)
    elsewhere = of_tasks("mine", queues=read_served_queues(["reports"]))
    for served in (of_tasks("theirs"), elsewhere):
        frontier = Frontier(served)
        await peek(database, frontier)
        assert not frontier.has_solo
        assert await claim_solo(database, node, served=served) == []
    frontier = Frontier(of_tasks("mine"))
    await peek(database, frontier)
    assert frontier.has_solo
    [attempt] = await claim_solo(database, node, served=of_tasks("mine"))
    assert attempt.job_id == suspect


async def test_weights_share_the_claims_of_one_level(database: Database) -> None:
    await submit(database, *(noop(queue=name) for name in ("mail", "reports") for _ in range(40)))
    node = await register(database)
    frontier = Frontier(ServedWork(queues=read_served_queues(["mail=3", "reports"])))
    await peek(database, frontier)
    begun = [(await claim(database, node, frontier, 1))[0].queue for _ in range(40)]
    assert Counter(begun)["mail"] in range(28, 33)


async def test_in_strict_order_the_second_waits_for_the_first_but_not_for_its_priority(
    database: Database,
) -> None:
    await submit(
        database,
        *(noop(queue="bulk") for _ in range(3)),
        noop(queue="bulk", priority=2),
        *(noop(queue="urgent") for _ in range(3)),
    )
    node = await register(database)
    queues = read_served_queues(["urgent", "bulk"], order="strict")
    frontier = Frontier(ServedWork(queues=queues))
    await peek(database, frontier)
    begun = [(await claim(database, node, frontier, 1))[0].queue for _ in range(7)]
    assert begun == ["bulk", *["urgent"] * 3, *["bulk"] * 3]
