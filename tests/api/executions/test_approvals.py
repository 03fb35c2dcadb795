"""Approvals through the API: listed, decided once, and refused when nobody waits any more."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.api.executions.flows import Execution, bring_up_to_date, publish, start
from tests.api.served import Served
from windlass import ids
from windlass.engine.executions.upkeep import find_neglected
from windlass.limits import COMMENT_CHARS_MAX

FORM = {
    "type": "object",
    "required": ["amount"],
    "properties": {"amount": {"type": "integer", "minimum": 1}},
}


async def asked(api: Served, **given: Any) -> tuple[Execution, dict[str, Any]]:
    step = {"id": "ok", "kind": "approval", "input": {"title": "May I?", **given}, "timeout": "48h"}
    await publish(api, [step], output="${steps.ok.output}")
    execution = await start(api)
    [found] = (await api.get(f"/v1/approvals?execution_id={execution['id']}"))["data"]
    return execution, found


async def test_an_approval_is_asked_for_and_given(api: Served) -> None:
    execution, approval = await asked(api, form=FORM)
    assert approval["id"].startswith("apr_")
    assert (approval["title"], approval["step"], approval["state"]) == ("May I?", "ok", "open")
    assert (approval["form"], approval["execution_id"]) == (FORM, execution["id"])
    assert approval["until"] is not None
    body = {"answer": {"amount": 3}, "comment": "fine by me"}
    said = await api.post(f"/v1/approvals/{approval['id']}/approve", body)
    assert (said["state"], said["answer"], said["comment"]) == (
        "approved",
        {"amount": 3},
        "fine by me",
    )
    assert None not in (said["decided_by"], said["decided_at"])
    done = await bring_up_to_date(api, execution)
    assert done["state"] == "succeeded"
    assert done["output"] == {
        "approved": True,
        "by": said["decided_by"],
        "answer": {"amount": 3},
        "comment": "fine by me",
    }


async def test_a_rejection_fails_the_step(api: Served) -> None:
    execution, approval = await asked(api, form=FORM)
    said = await api.post(f"/v1/approvals/{approval['id']}/reject", {"comment": "too much"})
    assert (said["state"], said["answer"]) == ("rejected", None)
    done = await bring_up_to_date(api, execution)
    assert done["state"] == "failed"
    assert "rejected" in str(done["error"])


async def test_a_decision_is_taken_once(api: Served) -> None:
    _, approval = await asked(api)
    await api.post(f"/v1/approvals/{approval['id']}/approve")
    for verb in ("approve", "reject"):
        said = await api.post(f"/v1/approvals/{approval['id']}/{verb}", status=409)
        assert (said["code"], "approved" in said["detail"]) == ("already_decided", True)


async def test_nobody_decides_for_a_step_that_waits_no_more(api: Served) -> None:
    execution, approval = await asked(api)
    await api.post(f"/v1/executions/{execution['id']}/cancel", status=202)
    said = await api.post(f"/v1/approvals/{approval['id']}/approve", status=409)
    assert "nobody waits" in said["detail"]
    await find_neglected(api.database)
    assert (await api.get("/v1/approvals?state=open"))["data"] == []
    [found] = (await api.get("/v1/approvals?state=void,approved"))["data"]
    assert found["id"] == approval["id"]


async def test_an_answer_that_its_form_does_not_allow_is_told(api: Served) -> None:
    _, approval = await asked(api, form=FORM)
    path = f"/v1/approvals/{approval['id']}/approve"
    for body, pointer in (
        ({}, "/answer"),
        ({"answer": {"amount": 0}}, "/answer/amount"),
        ({"answer": {"amount": "\0"}}, "/answer"),
        ({"comment": 7}, "/comment"),
        ({"comment": "x" * (COMMENT_CHARS_MAX + 1)}, "/comment"),
        ({"note": ""}, "/note"),
    ):
        said = await api.post(path, body, 422)
        assert pointer in [problem["pointer"] for problem in said["errors"]], body
    await api.post(path, {"answer": {"amount": 1}})


async def test_pages(api: Served) -> None:
    made = [(await asked(api))[1]["id"] for _ in range(3)]
    page = await api.get("/v1/approvals?limit=2")
    rest = await api.get(f"/v1/approvals?limit=2&cursor={page['next_cursor']}")
    assert [one["id"] for one in page["data"] + rest["data"]] == made[::-1]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize("verb", ["approve", "reject"])
async def test_who_is_not_there_is_not_found(door: Served, verb: str) -> None:
    await door.post(f"/v1/approvals/{ids.show('approval', uuid4())}/{verb}", status=404)
    await door.post(f"/v1/approvals/apr_1/{verb}", status=422)
