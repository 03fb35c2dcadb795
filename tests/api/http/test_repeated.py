"""`Idempotency-Key` on every POST: the same request is answered the same, and done once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.api.executions.flows import bring_up_to_date, by_hand, publish, read, start
from tests.api.served import Served
from tests.engine.executions.flow import noop
from windlass.api.http.caller import enter
from windlass.api.http.idempotency import idempotent
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Call, Route
from windlass.engine import idempotency as once
from windlass.engine.idempotency import take_answer
from windlass.engine.jobs.request import Idempotency
from windlass.errors import NotFound
from windlass.store.database import Unknown

KEY = {"Idempotency-Key": "order-42"}


async def test_every_post_takes_an_idempotency_key(door: Served) -> None:
    document = await door.get("/openapi.json")
    without = [
        path
        for path, methods in document["paths"].items()
        if "post" in methods
        and "Idempotency-Key" not in {p["name"] for p in methods["post"].get("parameters", ())}
    ]
    assert without == ["/v1/session"]  # each login is one


async def test_a_rerun_that_is_sent_twice_is_done_once(api: Served) -> None:
    await publish(api, [noop("a")])
    execution = await start(api)
    await (await by_hand(api, execution)).run()
    await bring_up_to_date(api, execution)
    path, body = f"/v1/executions/{execution['id']}/rerun", {"from_step": "a"}
    first = await api.post(path, body, headers=KEY)
    await (await by_hand(api, execution)).run()
    ended = await bring_up_to_date(api, execution)
    assert ended["state"] == "succeeded"
    async with api.client.post(api.url + path, json=body, headers=KEY) as again:
        assert again.status == 200
        assert again.headers["Idempotent-Replayed"] == "true"
        assert again.headers["Content-Type"] == "application/json"
        assert await again.json() == first
    assert (await read(api, execution))["state"] == "succeeded"  # nothing was begun anew


async def test_the_same_key_for_something_else_is_refused(api: Served) -> None:
    await api.submit(queue="mail")
    await api.post("/v1/queues/mail/pause", headers=KEY)
    said = await api.post("/v1/queues/mail/resume", status=422, headers=KEY)
    assert said["code"] == "idempotency_mismatch"
    assert (await api.get("/v1/queues/mail"))["is_paused"]


async def test_a_refused_request_gives_its_key_back(api: Served) -> None:
    await api.post("/v1/queues/mail/pause", status=404, headers=KEY)
    await api.submit(queue="mail")
    await api.post("/v1/queues/mail/pause", headers=KEY)
    assert (await api.get("/v1/queues/mail"))["is_paused"]


async def test_many_at_once_are_one(api: Served) -> None:
    job = await api.submit(queue="mail", delay="1h")

    async def promote() -> bool:
        path = f"{api.url}/v1/jobs/{job['id']}/promote"
        async with api.client.post(path, headers=KEY) as answer:
            assert answer.status == 200
            return "Idempotent-Replayed" in answer.headers

    assert sorted(await asyncio.gather(*(promote() for _ in range(20)))) == [False] + [True] * 19
    events = (await api.get(f"/v1/jobs/{job['id']}/events"))["data"]
    assert [event["type"] for event in events].count("promoted") == 1


async def test_one_whose_answer_nobody_knows_is_not_done_again(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its node died after it had taken the key."""
    monkeypatch.setattr(once, "ANSWER_WAIT_SECONDS", 0.0)
    await api.submit(queue="mail")
    async with api.client.post(f"{api.url}/v1/queues/mail/pause", headers=KEY) as done:
        assert done.status == 200
    (row,) = await _sql(
        api, "SELECT owner, key, body_hash FROM windlass.idempotency WHERE key = $1"
    )
    mark = Idempotency(owner=row["owner"], key=row["key"], body_hash=row["body_hash"])
    await _sql(api, "UPDATE windlass.idempotency SET answer = NULL WHERE key = $1")
    with pytest.raises(once.AnswerUnknown):
        await take_answer(api.database, mark)
    said = await api.post("/v1/queues/mail/pause", status=409, headers=KEY)
    assert said["code"] == "answer_unknown"


@pytest.mark.parametrize("matters_twice", [True, False])
async def test_what_may_have_been_done_is_not_done_again_where_that_matters(
    api: Served, monkeypatch: pytest.MonkeyPatch, matters_twice: bool
) -> None:
    """The connection broke after the commit, when the answer was read."""
    monkeypatch.setattr(once, "ANSWER_WAIT_SECONDS", 0.0)
    troubles: list[Exception] = [NotFound("queue", "mail"), Unknown("the connection broke")]
    performed = 0

    async def perform(_request: Call, _query: dict[str, Any]) -> Any:
        nonlocal performed
        performed += 1
        if troubles:
            raise troubles.pop(0)
        return json_reply({})

    route = idempotent(
        Route(
            method="POST",
            path="/v1/again",
            handle=perform,
            needs="jobs:submit",
            summary="",
            tag="",
            matters_twice=matters_twice,
            answers={},
        ),
        api.database,
    )
    with pytest.raises(NotFound):
        await route.handle(_call(), {})
    with pytest.raises(Unknown):
        await route.handle(_call(), {})
    if matters_twice:
        with pytest.raises(once.AnswerUnknown):
            await route.handle(_call(), {})
    else:
        await route.handle(_call(), {})
    assert performed == (2 if matters_twice else 3)


def _call() -> Call:
    headers = [(name.lower().encode(), text.encode()) for name, text in KEY.items()]
    scope: Any = {"type": "http", "method": "POST", "path": "/v1/again", "headers": headers}
    enter(scope)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_message: Any) -> None:
        raise AssertionError("nobody listens")

    return Call(scope, receive, send)


async def _sql(api: Served, text: str) -> list[Any]:
    async with api.database.side() as connection:
        return list(await connection.fetch(text, KEY["Idempotency-Key"]))
