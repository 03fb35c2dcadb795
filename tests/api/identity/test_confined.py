"""A key for some queues or workflows sees and touches nothing else, whatever it is asked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.identity.callers import a_key, bearer, say
from tests.api.served import Served

ALL = [
    *("jobs:read", "jobs:submit", "jobs:control", "queues:read", "queues:edit", "queues:control"),
    *("workflows:read", "workflows:edit", "executions:read", "executions:start"),
    *("executions:control", "events:read", "secrets:read", "schedules:read", "keys:own"),
]
MINE, THEIRS = "mine", "theirs"


@pytest.fixture
async def token(api: Served) -> str:
    made = await a_key(api, scopes=ALL, queues=[MINE], workflows=["my-flow"])
    shown: str = made["token"]
    return shown


async def ask(api: Served, token: str, method: str, path: str, json: Any = None) -> Any:
    said = await say(api, method, path, json, bearer(token))
    assert THEIRS.encode() not in said.body or THEIRS in f"{path}{json}", said.body
    return said


def flow(name: str, **step: Any) -> dict[str, Any]:
    return {
        "name": name,
        "queue": step.pop("usual_queue", MINE),
        "steps": [{"id": "a", "kind": "noop", **step}],
    }


async def test_it_submits_to_its_queue_alone(api: Served, token: str) -> None:
    for queue, status in ((MINE, 201), (THEIRS, 403), ("default", 403)):
        body = {"kind": "noop", "queue": queue}
        assert (await ask(api, token, "POST", "/v1/jobs", body)).status == status
    two: list[Any] = [{"kind": "noop", "queue": MINE}, {"kind": "noop", "queue": THEIRS}]
    refused = await ask(api, token, "POST", "/v1/jobs/batch", {"jobs": two})
    assert (refused.status, refused.json["code"]) == (403, "confined")
    assert refused.json["allowed"] == [MINE]
    large: list[Any] = [{"kind": "noop", "queue": MINE, "input": {"x": "y" * 3000}}] * 900
    many = {"jobs": [*large, {"kind": "noop", "queue": THEIRS}]}
    assert (await ask(api, token, "POST", "/v1/jobs/batch", many)).status == 403
    unnamed = await ask(api, token, "POST", "/v1/jobs", {"kind": "noop"})
    assert unnamed.status == 403, "nor to the one that is meant when none is named"
    assert (await api.get("/v1/jobs"))["data"][0]["queue"] == MINE


async def test_it_reads_and_controls_its_jobs_alone(api: Served, token: str) -> None:
    mine = await api.submit(queue=MINE, delay=3600)
    theirs = await api.submit(queue=THEIRS, delay=3600)
    for job, status in ((mine, 200), (theirs, 403)):
        for word in ("", "/attempts", "/events", "/why"):
            assert (await ask(api, token, "GET", f"/v1/jobs/{job['id']}{word}")).status == status
    for verb in ("cancel", "retry"):
        assert (await ask(api, token, "POST", f"/v1/jobs/{theirs['id']}/{verb}")).status == 403
    assert (await ask(api, token, "DELETE", f"/v1/jobs/{theirs['id']}")).status == 403
    assert (await api.get(f"/v1/jobs/{theirs['id']}"))["state"] == "queued"
    assert (await ask(api, token, "POST", f"/v1/jobs/{mine['id']}/cancel")).status == 200
    gone = await ask(api, token, "GET", f"/v1/jobs/{mine['id']}")
    assert gone.json["state"] == "cancelled", "it is his when it has ended, too"
    missing = await ask(api, token, "GET", "/v1/jobs/job_" + "0" * 32)
    assert missing.status == 404


async def test_it_lists_one_queue_at_a_time_and_nothing_of_others(api: Served, token: str) -> None:
    await api.submit(queue=MINE, tags=["x"])
    await api.submit(queue=THEIRS, tags=["x"])
    for query, status in ((f"queue={MINE}&tag=x", 200), ("tag=x", 403), (f"queue={THEIRS}", 403)):
        said = await ask(api, token, "GET", f"/v1/jobs?{query}")
        assert said.status == status
        if status == 200:
            assert [job["queue"] for job in said.json["data"]] == [MINE]


async def test_its_jobs_wait_for_no_others(api: Served, token: str) -> None:
    theirs = await api.submit(queue=THEIRS, delay=3600)
    mine = await api.submit(queue=MINE, delay=3600)
    for parent, status in ((theirs, 403), (mine, 201)):
        job = {"kind": "noop", "queue": MINE, "depends_on": [parent["id"]]}
        assert (await ask(api, token, "POST", "/v1/jobs", job)).status == status
        said = await ask(api, token, "POST", "/v1/jobs/batch", {"jobs": [job]})
        assert said.status == status


async def test_a_unique_key_of_somebody_else_shows_and_changes_nothing(
    api: Served, token: str
) -> None:
    theirs = await api.submit(
        queue=THEIRS, key="order-1", delay=3600, input={"x": THEIRS}, correlation_id=THEIRS
    )
    theirs = await api.get(f"/v1/jobs/{theirs['id']}")
    for more in ({}, {"delay": 7200, "unique": {"debounce": "1h"}}):
        job = {"kind": "noop", "queue": MINE, "key": "order-1", **more}
        said = await ask(api, token, "POST", "/v1/jobs", job)
        assert said.status in (403, 422), said.body
        assert (await ask(api, token, "POST", "/v1/jobs/batch", {"jobs": [job]})).status in (
            *(403, 422),
        )
    assert (await api.get(f"/v1/jobs/{theirs['id']}"))["run_at"] == theirs["run_at"]
    own = {"kind": "noop", "queue": MINE, "key": "mine-1", "delay": 3600}
    assert (await ask(api, token, "POST", "/v1/jobs", own)).status == 201
    assert (await ask(api, token, "POST", "/v1/jobs", own)).status == 200


async def test_it_looks_at_and_sets_its_queue_alone(api: Served, token: str) -> None:
    await api.submit(queue=MINE)
    await api.submit(queue=THEIRS)
    for queue, status in ((MINE, 200), (THEIRS, 403)):
        assert (await ask(api, token, "GET", f"/v1/queues/{queue}")).status == status
        assert (await ask(api, token, "POST", f"/v1/queues/{queue}/pause")).status == status
        limits = {"max_running": 3}
        assert (await ask(api, token, "PUT", f"/v1/queues/{queue}", limits)).status == status
    shown = await api.get(f"/v1/queues/{THEIRS}")
    assert (shown["is_paused"], shown["max_running"]) == (False, None)


@pytest.mark.parametrize(
    "path",
    [
        *("/v1/queues", "/v1/stats", "/v1/workflows", "/v1/executions", "/v1/schedules"),
        *("/v1/dead-letters", "/v1/dead-letters/groups", "/v1/events", "/v1/events/stream"),
        *("/v1/secrets", "/v1/ids/job_0", "/v1/keys", "/v1/tasks"),
    ],
)
async def test_what_tells_of_everything_is_not_for_it(api: Served, token: str, path: str) -> None:
    said = await ask(api, token, "GET", path)
    assert said.status == 403, said.body


async def test_many_at_once_are_not_for_it(api: Served, token: str) -> None:
    for path, body in (
        ("/v1/jobs/bulk", {"verb": "cancel", "filter": {"queue": MINE}}),
        ("/v1/dead-letters/replay", {"filter": {"queue": MINE}}),
        ("/v1/dead-letters/discard", {"filter": {"queue": MINE}}),
        ("/v1/keys", {"name": "more", "scopes": ["jobs:read"]}),
    ):
        said = await ask(api, token, "POST", path, body)
        assert (said.status, said.json["code"]) in ((403, "confined"), (403, "forbidden")), path


async def test_it_starts_and_reads_its_workflow_alone(api: Served, token: str) -> None:
    for name in ("my-flow", "their-flow"):
        await api.post("/v1/workflows", flow(name), 201)
    for name, status in (("my-flow", 201), ("their-flow", 403)):
        said = await ask(api, token, "POST", f"/v1/workflows/{name}/executions", {})
        assert said.status == status
        read = 200 if status == 201 else 403
        for word in ("", "/versions", "/export", "/versions/1"):
            assert (await ask(api, token, "GET", f"/v1/workflows/{name}{word}")).status == read
        made = await api.post(f"/v1/workflows/{name}/executions", {}, 201)
        for word in ("", "/jobs", "/events", "/graph", "/why"):
            path = f"/v1/executions/{made['id']}{word}"
            assert (await ask(api, token, "GET", path)).status == read, path
        for verb in ("pause", "resume", "cancel"):
            path = f"/v1/executions/{made['id']}/{verb}"
            said = await ask(api, token, "POST", path)
            assert (said.status == 403) == (read == 403), path


@pytest.mark.parametrize(
    ("definition", "status"),
    [
        (flow("my-flow"), 201),
        (flow("my-flow", usual_queue=THEIRS), 403),
        (flow("my-flow", usual_queue="default"), 403),
        (flow("my-flow", queue=THEIRS), 403),
        (flow("my-flow", undo={"kind": "noop", "queue": THEIRS}), 403),
        (flow("my-flow", kind="workflow", input={"workflow": "their-flow"}), 403),
        (flow("my-flow", kind="workflow", input={"workflow": "${inputs.x}"}), 403),
        (flow("my-flow", kind="workflow", input={"workflow": "my-flow"}), 201),
    ],
)
async def test_what_it_defines_reaches_no_further_than_it_does(
    api: Served, token: str, definition: dict[str, Any], status: int
) -> None:
    said = await ask(api, token, "PUT", "/v1/workflows/my-flow", definition)
    assert said.status == status, said.body
    assert (await ask(api, token, "PUT", "/v1/workflows/their-flow", {})).status == 403
    await api.call("PUT", "/v1/workflows/my-flow/draft", 200, json=definition)
    said = await say(api, "POST", "/v1/workflows/my-flow/draft/publish", None, bearer(token))
    assert (said.status == 403) == (status == 403), said.body


async def test_a_key_for_workflows_alone_has_no_queue(api: Served) -> None:
    made = await a_key(api, scopes=ALL, workflows=["my-flow"])
    await api.post("/v1/workflows", flow("my-flow"), 201)
    job = {"kind": "noop", "queue": MINE}
    assert (await ask(api, made["token"], "POST", "/v1/jobs", job)).status == 403
    assert (await ask(api, made["token"], "GET", "/v1/jobs")).status == 403
    started = await ask(api, made["token"], "POST", "/v1/workflows/my-flow/executions", {})
    assert started.status == 201
    jobs = await api.get(f"/v1/executions/{started.json['id']}/jobs")
    path = f"/v1/jobs/{jobs['data'][0]['id']}"
    assert (await ask(api, made["token"], "GET", path)).status == 200, "its steps are its own"
