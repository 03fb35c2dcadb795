"""Dead letters over HTTP: listed, grouped by cause, replayed, discarded."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.acting_node import ActingNode
from tests.api.served import Served, insist
from tests.engine.hands import until_sql
from windlass import ids
from windlass.engine.jobs import replay as replaying

# Somebody waits for a row that another transaction holds.
WAITS = """SELECT count(*) > 0 FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock'"""

ALL: dict[str, Any] = {"more": False, "left": 0, "left_jobs": []}


async def bury(api: Served, node: ActingNode, count: int, cause: str, queue: str) -> list[str]:
    jobs = [{"kind": "noop", "queue": queue, "tags": [cause]}] * count
    made: list[str] = (await api.post("/v1/jobs/batch", {"jobs": jobs}, 201))["ids"]
    await node.bury(cause)
    return made


async def test_dead_letters_are_grouped_by_what_went_wrong(api: Served, node: ActingNode) -> None:
    await bury(api, node, 3, "http 503", "hooks")
    await bury(api, node, 1, "KeyError", "mail")
    groups = (await api.get("/v1/dead-letters/groups"))["data"]
    assert [(g["queue"], g["cause"], g["count"]) for g in groups] == [
        ("hooks", "http 503", 3),
        ("mail", "KeyError", 1),
    ]
    sample = await api.get(f"/v1/jobs/{groups[0]['sample_id']}")
    assert (sample["state"], sample["cause"]) == ("dead", "http 503")
    assert groups[0]["first_at"] <= groups[0]["last_at"]


async def test_a_page_of_dead_letters_can_be_narrowed(api: Served, node: ActingNode) -> None:
    hooks = await bury(api, node, 3, "http 503", "hooks")
    mail = await bury(api, node, 1, "KeyError", "mail")
    await api.submit()

    async def found(query: str) -> set[str]:
        return {job["id"] for job in (await api.get(f"/v1/dead-letters?{query}"))["data"]}

    assert await found("") == {*hooks, *mail}
    assert await found("queue=mail") == set(mail)
    assert await found("cause=http%20503") == set(hooks)
    assert await found("tag=KeyError") == set(mail)
    first = await api.get("/v1/dead-letters?limit=3")
    assert await found(f"limit=3&cursor={first['next_cursor']}") == {hooks[0]}


async def test_dead_letters_are_replayed_by_id_and_by_filter(api: Served, node: ActingNode) -> None:
    hooks = await bury(api, node, 3, "http 503", "hooks")
    mail = await bury(api, node, 2, "KeyError", "mail")
    alive = (await api.submit(queue="alive", delay="1h"))["id"]
    woken: list[tuple[str, int]] = []
    api.parts.announcer.on_line(lambda line, _at: woken.append(line))
    body = {"ids": [hooks[0], alive, "job_" + "0" * 32]}
    said = await api.post("/v1/dead-letters/replay", body)
    assert (said["replayed"], said["more"], said["left"]) == (1, False, 2)
    reasons = {one["id"]: one["reason"] for one in said["left_jobs"]}
    assert reasons == {
        alive: "it is queued, and no dead letter",
        "job_" + "0" * 32: "there is no such job, or not any more",
    }
    assert ("hooks", 1) in woken
    body = {"filter": {"queue": "mail", "cause": "KeyError"}}  # type: ignore[dict-item]
    assert await api.post("/v1/dead-letters/replay", body) == ALL | {"replayed": 2}
    assert await api.post("/v1/dead-letters/replay", body) == ALL | {"replayed": 0}
    states = [(await api.get(f"/v1/jobs/{job}"))["state"] for job in (*mail, hooks[0], hooks[1])]
    assert states == ["queued", "queued", "queued", "dead"]


async def posted(api: Served, path: str, body: Any) -> Any:
    async with insist(lambda: api.client.post(api.url + path, json=body)) as answer:
        return await answer.json()


@pytest.mark.parametrize("verb", ["replay", "discard"])
async def test_what_was_dead_when_it_was_chosen_and_has_ended_well_since_is_not_touched(
    api: Served, node: ActingNode, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setattr(replaying, "BATCH", 1)  # each batch is a moment of its own
    held, mended = await bury(api, node, 2, "KeyError", "mail")
    async with api.database.side() as other, other.transaction():
        await other.fetch(
            "SELECT FROM windlass.job_history WHERE id = $1 FOR UPDATE", ids.parse("job", held)
        )
        slow = asyncio.create_task(posted(api, f"/v1/dead-letters/{verb}", {"filter": {}}))
        await until_sql(api.database, WAITS, seconds=60)
        await api.post("/v1/dead-letters/replay", {"ids": [mended]})
        await node.run()
        assert (await api.get(f"/v1/jobs/{mended}"))["state"] == "succeeded"
    said = await slow
    assert said[{"replay": "replayed", "discard": "discarded"}[verb]] == 1
    job = await api.get(f"/v1/jobs/{mended}")
    assert (job["state"], job["attempt"]) == ("succeeded", 2)


async def test_discarded_dead_letters_are_gone(api: Served, node: ActingNode) -> None:
    hooks = await bury(api, node, 2, "x", "hooks")
    ended = (await api.submit())["id"]
    await node.run()
    # A job that ended well is no dead letter, whoever asks.
    path = "/v1/dead-letters/discard"
    said = await api.post(path, {"ids": [ended]})
    assert (said["discarded"], said["left"]) == (0, 1)
    assert said["left_jobs"][0]["reason"] == "it is succeeded, and no dead letter"
    assert await api.post(path, {"filter": {}}) == ALL | {"discarded": 2}
    await api.get(f"/v1/jobs/{hooks[0]}", 404)
    assert (await api.get("/v1/stats"))["totals"]["dead"] == 0


async def bury_at(api: Served, node: ActingNode, host: str) -> str:
    made = await api.submit(kind="http", input={"url": f"https://{host}/hooks"})
    await node.bury("http 410")
    return str(made["id"])


async def test_everything_that_failed_at_a_target_since_an_instant_is_replayed(
    api: Served, node: ActingNode
) -> None:
    before = await bury_at(api, node, "shop.example")
    at_shop = [await bury_at(api, node, "shop.example") for _ in range(2)]
    elsewhere = await bury_at(api, node, "other.example")
    since = (await api.get(f"/v1/jobs/{at_shop[0]}"))["finished_at"]
    query = f"target=SHOP.example&finished_after={quote(since)}"
    found = (await api.get(f"/v1/dead-letters?{query}"))["data"]
    assert [job["id"] for job in found] == at_shop[::-1]
    which = {"filter": {"target": "shop.example:443", "finished_after": since}}
    assert await api.post("/v1/dead-letters/replay", which) == ALL | {"replayed": 2}
    states = [(await api.get(f"/v1/jobs/{job}"))["state"] for job in (before, *at_shop, elsewhere)]
    assert states == ["dead", "queued", "queued", "dead"]
    refused = await api.post("/v1/dead-letters/replay", {"filter": {"target": "a b"}}, 422)
    assert refused["errors"][0]["pointer"] == "/filter/target"


async def test_two_ranges_of_time_that_meet_share_no_dead_letter_and_leave_none_out(
    api: Served, node: ActingNode
) -> None:
    jobs = [await bury_at(api, node, "shop.example") for _ in range(3)]
    at = quote((await api.get(f"/v1/jobs/{jobs[1]}"))["finished_at"])

    async def found(path: str, query: str) -> list[str]:
        return [job["id"] for job in (await api.get(f"{path}?{query}"))["data"]]

    for path in ("/v1/dead-letters", "/v1/jobs"):
        assert await found(path, f"finished_after={at}") == [jobs[2], jobs[1]]
        assert await found(path, f"finished_before={at}") == [jobs[0]]
        assert await found(path, f"finished_after={at}&finished_before={at}") == []
    dead = await api.get(f"/v1/jobs/{jobs[1]}")
    path = "/v1/dead-letters/discard"
    earlier = {"filter": {"finished_before": dead["finished_at"]}}
    assert await api.post(path, earlier) == ALL | {"discarded": 1}
    later = {"filter": {"finished_after": dead["finished_at"]}}
    assert await api.post(path, later) == ALL | {"discarded": 2}


async def test_a_filter_that_matches_more_than_one_call_takes_says_so(
    api: Served, node: ActingNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windlass.api.jobs.dead_letters.SELECT_MAX", 2)
    await bury(api, node, 3, "x", "hooks")
    path = "/v1/dead-letters/discard"
    assert await api.post(path, {"filter": {}}) == ALL | {"discarded": 2, "more": True}
    assert await api.post(path, {"filter": {}}) == ALL | {"discarded": 1}
