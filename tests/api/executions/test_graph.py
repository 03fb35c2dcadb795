"""An execution looked into: its steps, what happened, and why it has not ended."""

from __future__ import annotations

from typing import Any

from tests.api.executions.flows import bring_up_to_date, by_hand, publish, read, start
from tests.api.served import Served
from tests.api.test_events import follow, words
from tests.engine.executions.flow import FAILS, noop
from tests.engine.hands import sql, take
from windlass.engine.doctor.doctor import doctor


def by_id(graph: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {step["id"]: step for step in graph["steps"]}


async def test_a_graph_has_every_step_whether_it_has_a_job_or_not(api: Served) -> None:
    steps = [
        noop("first", title="The first"),
        {
            "id": "way",
            "kind": "switch",
            "needs": ["first"],
            "cases": [{"if": "${false}", "go": ["last"]}],
            "default": ["go"],
        },
        noop("go"),
        noop("repair", {"step": "go", "when": "failed"}),
        noop("last"),
    ]
    await publish(api, steps)
    made = await start(api)
    graph = await read(api, made, "graph")
    assert [step["id"] for step in graph["steps"]] == ["first", "way", "go", "repair", "last"]
    found = by_id(graph)
    assert found["first"]["state"] == "queued"
    assert found["first"]["title"] == "The first"
    assert {found[step]["state"] for step in ("way", "go", "repair", "last")} == {"waiting"}
    assert found["repair"]["needs"] == [{"step": "go", "when": "failed"}]
    assert {"from": "way", "to": "go", "when": "succeeded", "cases": [-1]} in graph["edges"]
    await (await by_hand(api, made)).run(go=FAILS)
    found = by_id(await read(api, made, "graph"))
    states = {name: step["state"] for name, step in found.items()}
    assert states == {
        "first": "succeeded",
        "way": "succeeded",
        "go": "dead",
        "repair": "succeeded",
        "last": "skipped",
    }
    assert found["first"]["output"] == "first"
    assert found["go"]["error"]["cause"] == "boom"
    assert found["way"]["output"] == {"case": -1}
    assert found["last"]["started_at"] is None


async def test_a_graph_counts_the_items_of_a_fan_out_while_it_runs_and_after(api: Served) -> None:
    fan = {
        "id": "fan",
        "kind": "map",
        "items": "${[1, 2, 3, 4]}",
        "step": {"kind": "noop"},
        "max_parallel": 3,
        "tolerance": 1,
    }
    await publish(api, [fan])
    made = await start(api)
    flow = await by_hand(api, made)
    counts = by_id(await read(api, made, "graph"))["fan"]["counts"]
    assert counts == {"total": 4, "expanded": 3, "succeeded": 0, "failed": 0, "open": 3}
    first, *_ = await take(api.database, flow.node_id, 1)
    flow.outcomes["fan"] = FAILS
    await flow.end(first)
    counts = by_id(await read(api, made, "graph"))["fan"]["counts"]
    assert counts == {"total": 4, "expanded": 4, "succeeded": 0, "failed": 1, "open": 3}
    del flow.outcomes["fan"]
    await flow.run()
    step = by_id(await read(api, made, "graph"))["fan"]
    assert step["state"] == "succeeded"
    assert step["counts"] == {"total": 4, "expanded": 4, "succeeded": 3, "failed": 1, "open": 0}


async def test_a_graph_shows_compensations_and_what_was_never_reached(api: Served) -> None:
    steps = [
        noop("charge", undo={"kind": "noop"}),
        noop("ship", "charge"),
        {"id": "ask", "kind": "signal", "needs": ["ship"], "input": {"name": "x"}},
    ]
    await publish(api, steps)
    made = await start(api)
    flow = await by_hand(api, made)
    await flow.run(ship=FAILS)
    await bring_up_to_date(api, made)
    found = by_id(await read(api, made, "graph"))
    assert found["charge~undo"]["state"] == "queued"
    assert found["charge~undo"]["needs"] == [{"step": "charge", "when": "ended"}]
    await flow.run()
    assert (await bring_up_to_date(api, made))["state"] == "failed"
    found = by_id(await read(api, made, "graph"))
    assert found["charge~undo"]["state"] == "succeeded"
    assert found["ask"]["state"] == "skipped"


async def test_a_long_output_is_shown_by_its_beginning(api: Served) -> None:
    made_long = {"id": "long", "kind": "transform", "input": {"value": "${inputs.text}"}}
    await publish(api, [made_long])
    made = await start(api, input={"text": "x" * 5_000})
    step = by_id(await read(api, made, "graph"))["long"]
    assert step["output"] is None
    assert step["output_excerpt"].startswith('"xxx')
    assert len(step["output_excerpt"]) == 1_000


async def test_events_of_an_execution_are_its_own_and_those_of_its_jobs(api: Served) -> None:
    await publish(api, [noop("a"), noop("b", "a")])
    made = await start(api)
    await start(api)
    flow = await by_hand(api, made)
    await flow.run()
    await bring_up_to_date(api, made)
    path = f"/v1/executions/{made['id']}/events"
    found = (await api.get(path))["data"]
    assert [event["at"] for event in found] == sorted(event["at"] for event in found)
    assert (words(found)[0], words(found)[-1]) == (
        ("execution", "created"),
        ("execution", "finished"),
    )
    of_jobs: dict[str, list[str]] = {}
    for event in found[1:-1]:
        of_jobs.setdefault(event["job_id"], []).append(event["type"])
    assert list(of_jobs.values()) == [["created", "started", "finished"]] * 2
    assert {event["execution_id"] for event in found} == {made["id"]}
    assert found[0]["subject"] == made["id"]
    assert found[-1]["data"]["state"] == "succeeded"
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = await api.get(f"{path}?limit=3" + (f"&cursor={cursor}" if cursor else ""))
        seen += [event["id"] for event in page["data"]]
        cursor = page["next_cursor"]
    assert seen == [event["id"] for event in found]


async def test_the_list_of_all_events_can_be_cut_to_executions(api: Served) -> None:
    await publish(api, [noop("a")])
    made, other = await start(api), await start(api)
    await (await by_hand(api, made)).run()
    for one in (made, other):
        await bring_up_to_date(api, one)
    found = (await api.get("/v1/events?noun=execution"))["data"]
    assert sorted(words(found)) == [("execution", "created")] * 2 + [("execution", "finished")] * 2
    found = (await api.get(f"/v1/events?execution_id={made['id']}"))["data"]
    assert words(found)[0] == ("execution", "created")
    assert words(found)[-1] == ("execution", "finished")
    assert {event["execution_id"] for event in found} == {made["id"]}
    assert len(found) == 5
    await api.get("/v1/events?noun=odd", 422)
    await api.get("/v1/events?execution_id=job_1", 422)


async def test_a_follower_sees_an_execution_begin_and_end(api: Served) -> None:
    await publish(api, [noop("a")])
    async with follow(api, "?noun=execution") as following:
        made = await start(api)
        assert (await following.next())["subject"] == made["id"]
        await (await by_hand(api, made)).run()
        await bring_up_to_date(api, made)
        event = await following.next()
    assert (event["type"], event["data"]["state"]) == ("finished", "succeeded")


async def test_why_names_everything_that_an_execution_waits_for(api: Served) -> None:
    await publish(api, [noop("inside")], "child")
    steps = [
        {"id": "paid", "kind": "signal", "input": {"name": "payment"}, "timeout": "7d"},
        {"id": "ok", "kind": "approval", "input": {"title": "Risky order"}},
        {"id": "call", "kind": "workflow", "input": {"workflow": "child"}},
        {"id": "fan", "kind": "map", "items": "${[1, 2]}", "step": {"kind": "noop"}},
        noop("last", "paid", "ok", "call", "fan"),
    ]
    await publish(api, steps)
    made = await start(api)
    why = await read(api, made, "why")
    reasons = {(one["step"], one["item"]): one for one in why["reasons"]}
    assert reasons["paid", None]["reason"] == "it waits for the signal 'payment'"
    assert reasons["paid", None]["until"] is not None
    assert "is to be decided: Risky order" in reasons["ok", None]["reason"]
    assert reasons["ok", None]["reason"].startswith("apr_")
    assert reasons["ok", None]["until"] is None
    [child] = (await api.get("/v1/executions?workflow=child"))["data"]
    said = f"its child {child['id']} of 'child' is pending"
    assert reasons["call", None]["reason"] == said
    assert reasons["fan", None]["reason"] == "0 of its 2 items have ended, 2 have begun"
    assert reasons["fan", 0]["job_id"].startswith("job_")
    assert why["summary"].startswith("step ")
    job = reasons["paid", None]["job_id"]
    of_job = await api.get(f"/v1/jobs/{job}/why")
    assert of_job["summary"] == "it waits for the signal 'payment'"
    assert of_job["gates"][0]["gate"] == "signal"


async def test_why_names_who_has_the_turn(api: Served) -> None:
    concurrency = {"key": "${inputs.who}", "limit": 1, "policy": "queue"}
    await publish(api, [noop("a")], concurrency=concurrency)
    first = await start(api, input={"who": "x"})
    await start(api, input={"who": "x"})
    third = await start(api, input={"who": "x"})
    why = await read(api, third, "why")
    assert why["state"] == "pending"
    assert first["id"] in why["summary"]
    assert why["summary"].endswith("1 wait before it")
    assert why["reasons"][0]["gate"] == "turn"
    assert third["concurrency_key"] == "x"


async def test_why_says_that_a_paused_one_is_paused(api: Served) -> None:
    await publish(api, [noop("a")])
    made = await start(api)
    await sql(
        api.database,
        "UPDATE windlass.execution SET paused_at = now() WHERE id = $1::text::uuid",
        made["id"].removeprefix("exe_"),
    )
    why = await read(api, made, "why")
    assert "paused" in {reason["gate"] for reason in why["reasons"]}


async def test_why_of_one_that_has_ended_says_so(api: Served) -> None:
    await publish(api, [noop("a")])
    made = await start(api)
    await (await by_hand(api, made)).run(a=FAILS)
    await bring_up_to_date(api, made)
    why = await read(api, made, "why")
    assert (why["state"], why["summary"]) == ("failed", "it has ended as failed")


async def test_the_doctor_finds_nothing_wrong_with_steps_that_had_no_attempt(api: Served) -> None:
    steps: list[dict[str, Any]] = [
        {"id": "shape", "kind": "transform", "input": {"value": {"n": 1}}},
        {"id": "way", "kind": "switch", "cases": [{"if": "${true}", "go": ["go"]}], "default": []},
        noop("go"),
        noop("never", "go", **{"if": "${false}"}),
        {"id": "stop", "kind": "fail", "needs": ["go"], "input": {"message": "enough"}},
        {"id": "none", "kind": "map", "items": "${[]}", "step": {"kind": "noop"}},
        {"id": "fan", "kind": "map", "items": "${[1, 2]}", "step": {"kind": "noop"}},
        noop("odd", input={"x": "${inputs.nothing}"}),
        {"id": "word", "kind": "signal", "input": {"name": "x"}},
    ]
    await publish(api, steps)
    made = await start(api)
    await (await by_hand(api, made)).run()
    assert (await read(api, made, "graph"))["state"] == "pending"
    assert (await bring_up_to_date(api, made))["counts"]["skipped"] == 1
    report = await doctor(api.database)
    assert report.jobs == 11
    assert [f"{one.check} {one.subject}: {one.detail}" for one in report.findings] == []
