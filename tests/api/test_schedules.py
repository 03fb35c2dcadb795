"""Schedules over HTTP: made, read, changed, paused, tried out, fired and filled in."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from tests.api.served import Served, insist
from tests.model.workflow.definitions import document, step
from windlass.limits import BACKFILL_MAX

PATH = "/v1/schedules"
NOOP = {"kind": "noop"}


def nightly(**fields: Any) -> dict[str, Any]:
    return {"name": "nightly", "cron": "0 3 * * *", "job": NOOP, **fields}


async def problems(api: Served, body: Any, path: str = PATH) -> dict[str, str]:
    told = await api.post(path, body, 422)
    return {error["pointer"]: error["detail"] for error in told["errors"]}


async def test_a_schedule_is_made_and_read_by_id_and_by_name(api: Served) -> None:
    body = nightly(timezone="Europe/Berlin", tags=["a", "b"], priority="high", catchup="2h")
    made = await api.post(PATH, body, 201)
    assert made["id"].startswith("sch_")
    assert (made["name"], made["state"], made["edition"]) == ("nightly", "active", 1)
    assert (made["cron"], made["every"], made["timezone"]) == ("0 3 * * *", None, "Europe/Berlin")
    assert (made["overlap"], made["misfire"], made["catchup"]) == ("allow", "fire_once", 7200)
    assert (made["priority"], made["tags"], made["source"]) == ("high", ["a", "b"], "api")
    assert made["job"] == NOOP
    assert "03:00" in made["words"]
    assert made["next_at"] == made["fire_at"] > made["created_at"]
    assert await api.get(f"{PATH}/nightly") == made
    assert await api.get(f"{PATH}/{made['id']}") == made
    await api.get(f"{PATH}/nobody", 404)
    await api.get(f"{PATH}/sch_{'0' * 32}", 404)
    await api.get(f"{PATH}/sch_nonsense", 422)


async def test_a_name_is_used_once_and_a_repetition_is_answered_as_it_was(api: Served) -> None:
    key = {"Idempotency-Key": "deploy-7"}
    first = await api.post(PATH, nightly(), 201, headers=key)
    async with api.client.post(api.url + PATH, json=nightly(), headers=key) as answer:
        assert (answer.status, answer.headers["Idempotent-Replayed"]) == (200, "true")
        assert (await answer.json())["id"] == first["id"]
    await api.post(PATH, nightly(cron="0 4 * * *"), 422, headers=key)
    told = await api.post(PATH, nightly(), 409)
    assert told["code"] == "name_taken"
    # Whoever deploys the same thing again means that one.
    await api.post(PATH, nightly(), 200, headers={"Idempotency-Key": "another"})
    await api.post(PATH, nightly(tags=["x"]), 409, headers={"Idempotency-Key": "third"})


async def keyed(api: Served, path: str, key: str, body: Any = None) -> tuple[int, dict[str, Any]]:
    """Posted again while another call of the same key has the row."""
    headers = {"Idempotency-Key": key}
    async with insist(
        lambda: api.client.post(api.url + path, json=body, headers=headers)
    ) as answer:
        return answer.status, await answer.json()


async def test_of_different_schedules_under_one_key_at_once_one_is_made(api: Served) -> None:
    async def post(number: int) -> tuple[int, dict[str, Any]]:
        return await keyed(api, PATH, "deploy-8", nightly(name=f"nightly-{number}"))

    said = await asyncio.gather(*(post(number) for number in range(10)))
    assert sorted(status for status, _ in said) == [201, *[422] * 9]
    assert {told.get("code") for status, told in said if status == 422} == {"idempotency_mismatch"}
    [there] = (await api.get(PATH))["data"]
    [made] = [number for number, (status, _) in enumerate(said) if status == 201]
    assert there["name"] == f"nightly-{made}"
    status, again = await post(made)
    assert (status, again["id"]) == (200, there["id"])


async def test_the_same_schedule_under_one_key_at_once_is_made_once(api: Served) -> None:
    said = await asyncio.gather(*(keyed(api, PATH, "deploy-9", nightly()) for _ in range(10)))
    assert sorted(status for status, _ in said) == [*[200] * 9, 201]
    assert len({told["id"] for _, told in said}) == 1


async def test_every_problem_is_told_with_its_pointer_and_the_fix(api: Served) -> None:
    found = await problems(
        api,
        {
            "name": "a b",
            "cron": "61 3 * * *",
            "timezone": "Europe/Berlim",
            "overlap": "never",
            "job": {"kind": "nope", "run_at": "2030-01-01T00:00:00Z"},
            "tags": ["ok", ""],
            "corn": 1,
        },
    )
    assert set(found) == {
        "/name",
        "/cron",
        "/timezone",
        "/overlap",
        "/job/kind",
        "/job/run_at",
        "/tags/1",
        "/corn",
    }
    assert "did you mean Europe/Berlin?" in found["/timezone"]
    assert "allow skip queue_one cancel_running" in found["/overlap"]
    assert (await api.get(PATH))["data"] == []


@pytest.mark.parametrize(
    ("fields", "pointer", "said"),
    [
        ({"cron": "0 0 30 2 *"}, "/cron", "there is no 30 February"),
        ({"cron": None, "every": 0}, "/every", "at least 1 second"),
        ({"cron": None}, "", "say when"),
        ({"every": "5m"}, "/every", "stands beside cron"),
        (
            {"starts_at": "2030-02-01T00:00:00Z", "ends_at": "2030-01-01T00:00:00Z"},
            "/ends_at",
            "starts_at",
        ),
        ({"ends_at": "2020-01-01T00:00:00Z"}, "/ends_at", "in the past"),
        ({"cron": None, "at": "2020-01-01T00:00:00Z"}, "/at", "in the past"),
        ({"job": None}, "/job", "say what to do"),
        ({"workflow": "greet"}, "/workflow", "not both"),
        ({"job": {"kind": "python", "input": {}}}, "/job/input/task", "must name a task"),
        ({"job": {**NOOP, "depends_on": []}}, "/job/depends_on", "overlap"),
        ({"job": {**NOOP, "key": "k-${schedule.day}"}}, "/job", "there is ${schedule.instant}"),
        ({"job": [1]}, "/job", "JSON object"),
        (
            {"job": None, "workflow": {"name": "greet", "input": {"at": "${schedule.instnat}"}}},
            "/workflow",
            "there is ${schedule.instant}",
        ),
        ({"job": None, "workflow": "nobody"}, "/workflow/name", "publish it first"),
        ({"job": None, "workflow": {"input": {}}}, "/workflow/name", "say which"),
        ({"job": None, "workflow": {"name": "x", "inptu": 1}}, "/workflow/inptu", "unknown"),
        ({"catchup": "soon"}, "/catchup", "not a duration"),
        ({"jitter": "2d"}, "/jitter", "longer than"),
        ({"name": "preview"}, "/name", "a word of the API"),
        ({"name": "sch_mine"}, "/name", "as ids do"),
        ({"dst": {"gap": "never"}}, "/dst/gap", "next skip"),
        ({"calendar": {"weekdays": ["sunnday"]}}, "/calendar/weekdays/0", ""),
    ],
)
async def test_what_cannot_be_is_refused_with_the_reason(
    door: Served, fields: dict[str, Any], pointer: str, said: str
) -> None:
    found = await problems(door, nightly(**fields))
    assert pointer in found, found
    assert said in found[pointer]
    assert len(found) == 1


async def test_an_execution_is_told_for_which_instant_it_was_started(api: Served) -> None:
    await api.post("/v1/workflows", {**document(step("a")), "name": "greet"}, 201)
    work = {"name": "greet", "input": {"at": "${schedule.instant}"}}
    await api.post(PATH, {"name": "weekly", "cron": "@weekly", "workflow": work}, 201)
    triggered = await api.post(f"{PATH}/weekly/trigger", None, 201)
    started = await api.get(f"/v1/executions/{triggered['execution_id']}")
    assert started["input"] == {"at": triggered["instant"]}


async def test_a_workflow_is_checked_with_its_input(api: Served) -> None:
    who = {"type": "object", "properties": {"who": {"type": "string"}}}
    greet = {**document(step("a")), "name": "greet", "inputs": who}
    await api.post("/v1/workflows", greet, 201)
    weekly = {"name": "weekly", "cron": "@weekly"}
    wrong = {"name": "greet", "input": {"who": 3}}
    assert "/workflow/input/who" in await problems(api, {**weekly, "workflow": wrong})
    old = {"name": "greet", "version": 7, "input": {"who": "you"}}
    assert "/workflow/version" in await problems(api, {**weekly, "workflow": old})
    right = {"name": "greet", "input": {"who": "you"}}
    made = await api.post(PATH, {**weekly, "workflow": right}, 201)
    assert made["workflow"] == {**right, "version": None}
    found = await api.get(f"{PATH}?workflow=greet")
    assert [schedule["name"] for schedule in found["data"]] == ["weekly"]


async def test_put_makes_or_replaces_and_patch_changes_some(api: Served) -> None:
    made = await api.call("PUT", f"{PATH}/nightly", 201, json={"every": "5m", "job": NOOP})
    assert (made["name"], made["every"]) == ("nightly", "5m")
    put = await api.call("PUT", f"{PATH}/{made['id']}", 200, json=nightly(tags=["x"]))
    assert (put["id"], put["edition"], put["cron"]) == (made["id"], 2, "0 3 * * *")
    await api.call("PUT", f"{PATH}/other", 422, json=nightly())
    changed = await api.call("PATCH", f"{PATH}/nightly", 200, json={"every": "1h", "tags": None})
    assert (changed["every"], changed["cron"], changed["tags"]) == ("1h", None, [])
    assert (changed["job"], changed["edition"]) == (NOOP, 3)
    stale = await api.call("PATCH", f"{PATH}/nightly?edition=2", 409, json={"every": "2h"})
    assert (stale["code"], stale["edition"]) == ("edition_conflict", 3)
    await api.call("PUT", f"{PATH}/nightly?edition=0", 409, json=nightly())
    await api.call("PATCH", f"{PATH}/nightly", 422, json={"every": 0})
    await api.call("PATCH", f"{PATH}/nobody", 404, json={"every": "1h"})
    await api.call("PATCH", f"{PATH}/nightly", 422, json=[])


async def test_a_deleted_schedule_is_gone(api: Served) -> None:
    await api.post(PATH, nightly(), 201)
    await api.call("DELETE", f"{PATH}/nightly", 204)
    await api.call("DELETE", f"{PATH}/nightly", 404)
    await api.get(f"{PATH}/nightly/next", 404)


async def test_schedules_are_listed_by_name_in_pages_and_by_what_they_have_in_common(
    api: Served,
) -> None:
    for name, fields in (
        ("b.two", {"tags": ["x", "y"]}),
        ("a.one", {"tags": ["x"], "source": "import"}),
        ("b.one", {"job": {**NOOP, "queue": "mail"}}),
    ):
        await api.post(PATH, nightly(name=name, **fields), 201)

    async def names(query: str) -> list[str]:
        found = await api.get(f"{PATH}?{query}")
        return [schedule["name"] for schedule in found["data"]]

    first = await api.get(f"{PATH}?limit=2")
    assert [schedule["name"] for schedule in first["data"]] == ["a.one", "b.one"]
    assert await names(f"limit=2&cursor={first['next_cursor']}") == ["b.two"]
    assert await names("tag=x") == ["a.one", "b.two"]
    assert await names("prefix=b.") == ["b.one", "b.two"]
    assert await names("source=import") == ["a.one"]
    assert await names("queue=mail") == ["b.one"]
    assert await names("paused=true") == []
    assert len(await names("paused=false")) == 3
    await api.get(f"{PATH}?paused=perhaps", 422)


async def test_a_rule_that_cannot_be_read_any_more_hides_nothing(api: Served) -> None:
    """A zone may leave the database of zones; what is stored stays."""
    await api.post(PATH, nightly(timezone="Europe/Berlin"), 201)
    await api.post(PATH, nightly(name="other"), 201)
    connection = await asyncpg.connect(api.database.url)
    try:
        await connection.execute(
            "UPDATE windlass.schedule SET rule = replace(rule::text, 'Berlin', 'Gone')::json"
            " WHERE name = 'nightly'"
        )
    finally:
        await connection.close()
    found = (await api.get(PATH))["data"]
    assert [schedule["name"] for schedule in found] == ["nightly", "other"]
    assert "cannot be read any more" in found[0]["words"]
    assert "timezone" in found[0]["words"]
    await api.get(f"{PATH}/nightly/next", 422)
    mended = await api.call("PATCH", f"{PATH}/nightly", 200, json={"timezone": "UTC"})
    assert "03:00" in mended["words"]


async def test_one_is_paused_with_a_note_and_resumed(api: Served) -> None:
    await api.post(PATH, nightly(), 201)
    paused = await api.post(f"{PATH}/nightly/pause", {"note": "the bank is closed"})
    assert (paused["state"], paused["note"]) == ("paused", "the bank is closed")
    assert paused["paused_at"]
    resumed = await api.post(f"{PATH}/nightly/resume")
    assert (resumed["state"], resumed["paused_at"]) == ("active", None)
    await api.post(f"{PATH}/nightly/pause", {"nope": 1}, 422)
    await api.post(f"{PATH}/nobody/pause", None, 404)


async def test_many_are_paused_and_resumed_at_once(api: Served) -> None:
    for n in range(4):
        await api.post(PATH, nightly(name=f"n{n}", tags=["even" if n % 2 == 0 else "odd"]), 201)
    assert await api.post(f"{PATH}/pause", {"filter": {"tags": ["even"]}, "note": "x"}) == {
        "names": ["n0", "n2"],
        "count": 2,
    }
    assert (await api.post(f"{PATH}/pause", {"filter": {}}))["names"] == ["n1", "n3"]
    assert (await api.post(f"{PATH}/resume", {"filter": {"names": ["n3", "n9"]}}))["count"] == 1
    assert len((await api.get(f"{PATH}?paused=true"))["data"]) == 3
    assert "/filter" in await problems(api, {}, f"{PATH}/pause")
    assert "/filter/nmae" in await problems(api, {"filter": {"nmae": "a"}}, f"{PATH}/pause")
    assert "/filter/tags/0" in await problems(api, {"filter": {"tags": [""]}}, f"{PATH}/resume")


async def test_the_next_instants_are_shown_in_local_time(api: Served) -> None:
    await api.post(PATH, nightly(timezone="Europe/Berlin", cron="30 2 * * *"), 201)
    path = f"{PATH}/nightly/next?n=3&after=2030-03-29T12:00:00Z"
    found = await api.get(path)
    assert [time["instant"] for time in found["next"]] == [
        "2030-03-30T01:30:00Z",
        "2030-03-31T01:00:00Z",
        "2030-04-01T00:30:00Z",
    ]
    assert found["next"][0]["local"] == "2030-03-30T02:30:00+01:00"
    assert found["next"][0]["note"] is None
    assert "02:30 does not exist" in found["next"][1]["note"]
    assert len((await api.get(f"{PATH}/nightly/next"))["next"]) == 20
    await api.get(f"{PATH}/nightly/next?n=0", 422)


async def test_a_rule_is_tried_out_without_a_schedule(api: Served) -> None:
    body = {"cron": "0 8 * * 1-5", "timezone": "Europe/Berlin", "n": 2}
    found = await api.post(f"{PATH}/preview", {**body, "after": "2030-01-04T12:00:00Z"})
    assert found["next"] == [
        {"instant": "2030-01-07T07:00:00Z", "local": "2030-01-07T08:00:00+01:00", "note": None},
        {"instant": "2030-01-08T07:00:00Z", "local": "2030-01-08T08:00:00+01:00", "note": None},
    ]
    assert "08:00" in found["words"]
    every = await api.post(f"{PATH}/preview", {"every": "90m", "n": 1})
    assert len(every["next"]) == 1
    once = {"at": "2020-01-01T00:00:00Z", "after": "2019-01-01T00:00:00Z"}
    assert len((await api.post(f"{PATH}/preview", once))["next"]) == 1
    path = f"{PATH}/preview"
    assert "30 February" in (await problems(api, {"cron": "0 0 30 2 *"}, path))["/cron"]
    wrong = await problems(api, {"cron": "x", "timezone": "Nowhere"}, path)
    assert set(wrong) == {"/cron", "/timezone"}
    assert "/m" in await problems(api, {"cron": "@daily", "m": 1}, path)
    assert "" in await problems(api, {}, path)
    assert "/n" in await problems(api, {"cron": "@daily", "n": 100_000}, path)


async def test_a_trigger_that_was_refused_takes_no_key(api: Served) -> None:
    await api.post(PATH, nightly(), 201)
    key = {"Idempotency-Key": "pay-day"}
    user = await asyncpg.connect(api.parts.database.url)
    try:
        async with user.transaction():
            await user.execute("SELECT FROM windlass.schedule FOR UPDATE")
            told = await api.post(f"{PATH}/nightly/trigger", None, 503, headers=key)
            assert told["code"] == "unavailable"
    finally:
        await user.close()
    fire = f"{PATH}/nightly/trigger"
    said = await asyncio.gather(*(keyed(api, fire, "pay-day") for _ in range(4)))
    assert sorted(status for status, _ in said) == [200, 200, 200, 201]
    assert len({told["job_id"] for _, told in said}) == 1
    assert len((await api.get(f"{PATH}/nightly/firings"))["data"]) == 1


async def test_a_trigger_fires_now_and_a_repetition_does_not_fire_again(api: Served) -> None:
    made = await api.post(PATH, nightly(overlap="skip"), 201)
    key = {"Idempotency-Key": "once"}
    firing = await api.post(f"{PATH}/nightly/trigger", None, 201, headers=key)
    assert (firing["state"], firing["is_asked"], firing["reason"]) == ("fired", True, None)
    job = await api.get(f"/v1/jobs/{firing['job_id']}")
    assert job["kind"] == "noop"
    async with api.client.post(f"{api.url}{PATH}/nightly/trigger", headers=key) as answer:
        assert (answer.status, answer.headers["Idempotent-Replayed"]) == (200, "true")
        assert (await answer.json())["job_id"] == firing["job_id"]
    # It has not ended, and its overlap holds for triggers too.
    second = await api.post(f"{PATH}/nightly/trigger", None, 200)
    assert (second["state"], second["job_id"]) == ("skipped", None)
    assert firing["job_id"] in second["reason"]
    found = (await api.get(f"{PATH}/nightly/firings"))["data"]
    assert [row["state"] for row in found] == ["skipped", "fired"]
    assert found[1] == firing
    assert (await api.get(f"{PATH}/nightly"))["next_at"] == made["next_at"]
    only = await api.get(f"{PATH}/nightly/firings?state=fired")
    assert only["data"] == [firing]
    await api.post(f"{PATH}/nobody/trigger", None, 404)
    await api.get(f"{PATH}/nobody/firings", 404)


async def test_firings_come_in_pages_newest_first(api: Served) -> None:
    await api.post(PATH, nightly(), 201)
    made = [await api.post(f"{PATH}/nightly/trigger", None, 201) for _ in range(3)]
    first = await api.get(f"{PATH}/nightly/firings?limit=2")
    assert first["data"] == [made[2], made[1]]
    rest = await api.get(f"{PATH}/nightly/firings?limit=2&cursor={first['next_cursor']}")
    assert (rest["data"], rest["next_cursor"]) == ([made[0]], None)


async def test_a_backfill_is_counted_first_and_done_once(api: Served) -> None:
    await api.post(PATH, nightly(), 201)
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    stretch = {"from": (today - timedelta(days=5)).isoformat(), "to": today.isoformat()}
    path = f"{PATH}/nightly/backfill"
    counted = await api.post(path, {**stretch, "dry_run": True})
    assert (counted["dry_run"], counted["count"], counted["made"]) == (True, 5, 0)
    done = await api.post(path, stretch)
    assert (done["count"], done["fired"], done["skipped"]) == (5, 5, 0)
    again = await api.post(path, stretch)
    assert (again["count"], again["made"], again["fired"]) == (0, 5, 0)
    rows = (await api.get(f"{PATH}/nightly/firings"))["data"]
    assert len(rows) == 5
    assert all(row["is_asked"] and row["state"] == "late" for row in rows)


async def test_a_backfill_of_ten_millions_is_refused_with_the_count(api: Served) -> None:
    await api.post(PATH, nightly(cron="* * * * *"), 201)
    stretch = {"from": "2000-01-01T00:00:00Z", "to": "2020-01-01T00:00:00Z"}
    path = f"{PATH}/nightly/backfill"
    told = await api.post(path, stretch, 422)
    assert told["code"] == "backfill_too_large"
    assert (told["count"], told["limit"]) == (7305 * 1440, BACKFILL_MAX)
    assert (await api.post(path, {**stretch, "dry_run": True}))["count"] == 7305 * 1440
    assert (await api.get(f"{PATH}/nightly/firings"))["data"] == []
    assert set(await problems(api, {}, path)) == {"/from", "/to"}
    backwards = {"from": stretch["to"], "to": stretch["from"]}
    assert "/to" in await problems(api, backwards, path)
    await api.post(f"{PATH}/nobody/backfill", stretch, 404)


async def test_a_count_is_a_number_and_not_its_text(api: Served) -> None:
    rule = {"every": "5m"}
    await api.post(f"{PATH}/preview", {**rule, "n": "5"}, 422)
    await api.post(f"{PATH}/preview", {**rule, "n": 5}, 200)
