"""Workflows over HTTP: publish, read, compare, export, delete."""

from __future__ import annotations

import asyncio
import io
import json
from itertools import pairwise
from typing import Any

from tests.api.served import Served
from tests.as_node_role import by_hand
from tests.model.workflow.definitions import document, step
from windlass.limits import BODY_BYTES_MAX, DEFINITION_BYTES_MAX

YAML = {"Content-Type": "application/yaml"}
JSON = {"Content-Type": "application/json"}
GREET = """
name: greet
description: Say hello.
steps:
  - {id: hello, kind: transform, input: {value: "Hello ${inputs.who}"}}
output: ${steps.hello.output}
"""


def greeting(*steps: Any, **fields: Any) -> dict[str, Any]:
    return {**document(*(steps or (step("a"),))), "name": "greet", **fields}


async def test_a_definition_is_published_once_and_read_back(api: Served) -> None:
    made = await api.post("/v1/workflows", greeting(description="Say hello."), 201)
    assert (made["name"], made["version"], made["description"]) == ("greet", 1, "Say hello.")
    assert made["id"].startswith("wf_")
    assert len(made["hash"]) == 64
    assert made["definition"] == greeting(description="Say hello.")
    assert await api.get("/v1/workflows/greet") == made
    again = greeting(description="Say hello.", layout={"a": [1, 2]})
    assert (await api.call("PUT", "/v1/workflows/greet", 200, json=again))["version"] == 1
    second = await api.call("PUT", "/v1/workflows/greet", 201, json=greeting(step("b")))
    assert (second["version"], second["definition"]["steps"]) == (2, [step("b")])
    # What was published before is a new version again: the newest is what counts.
    third = await api.post("/v1/workflows", greeting(description="Say hello."), 201)
    assert (third["version"], third["hash"]) == (3, made["hash"])


async def test_yaml_is_taken_where_json_is(api: Served) -> None:
    made = await api.post("/v1/workflows", None, 201, data=GREET, headers=YAML)
    assert made["definition"]["steps"][0]["input"] == {"value": "Hello ${inputs.who}"}
    path = "/v1/workflows/greet"
    await api.call("PUT", path, 200, data=GREET, headers=YAML)
    verdict = await api.post("/v1/workflows/validate", None, 200, data=GREET, headers=YAML)
    assert verdict == {"valid": True, "errors": []}
    twice = await api.post("/v1/workflows", None, 400, data="name: a\nname: b\n", headers=YAML)
    assert "line 2, column 1: the key 'name' stands twice" in twice["errors"][0]["detail"]
    await api.post("/v1/workflows", None, 415, data=GREET, headers={"Content-Type": "text/plain"})
    await api.post("/v1/workflows", None, 400, data="", headers=YAML)


async def test_every_problem_is_told_with_its_pointer_and_nothing_is_published(api: Served) -> None:
    wrong = greeting(step("a", "htp"), step("b", needs=["c"]), tiemout=3)
    told = await api.post("/v1/workflows", wrong, 422)
    pointers = {error["pointer"] for error in told["errors"]}
    assert pointers == {"/tiemout", "/steps/0/kind", "/steps/1/needs/0"}
    verdict = await api.post("/v1/workflows/validate", wrong)
    assert verdict["valid"] is False
    assert {error["pointer"] for error in verdict["errors"]} == pointers
    assert await api.post("/v1/workflows/validate", [1]) == {
        "valid": False,
        "errors": [
            {
                "pointer": "",
                "detail": 'a definition is an object such as {"name": "greet", "steps": […]}',
            }
        ],
    }
    await api.get("/v1/workflows/greet", 404)
    await api.post("/v1/workflows/validate", None, 400, data="{", headers=JSON)


async def test_the_path_may_stand_for_the_name_but_not_against_it(api: Served) -> None:
    nameless = {"steps": [step("a")]}
    made = await api.call("PUT", "/v1/workflows/greet", 201, json=nameless)
    assert made["definition"] == {**nameless, "name": "greet"}
    told = await api.call("PUT", "/v1/workflows/other", 422, json=greeting())
    assert told["errors"][0]["pointer"] == "/name"
    await api.call("PUT", "/v1/workflows/a%20b", 422, json=nameless)


async def test_what_is_too_large_is_refused_by_its_limit(api: Served) -> None:
    def of_size(size: int) -> dict[str, Any]:
        definition = greeting(step("a", input={"x": "y" * size}))
        return {"data": io.BytesIO(json.dumps(definition).encode()), "headers": JSON}

    told = await api.post("/v1/workflows", None, 422, **of_size(DEFINITION_BYTES_MAX))
    assert str(DEFINITION_BYTES_MAX) in told["errors"][0]["detail"]
    told = await api.post("/v1/workflows", None, 413, **of_size(BODY_BYTES_MAX))
    assert told["limit"] == BODY_BYTES_MAX
    await api.post("/v1/workflows", None, 201, **of_size(DEFINITION_BYTES_MAX - 200))


async def test_a_repeated_publication_is_answered_as_it_was(api: Served) -> None:
    key = {"Idempotency-Key": "deploy-7"}
    first = await api.post("/v1/workflows", greeting(), 201, headers=key)
    await api.post("/v1/workflows", greeting(step("b")), 201)
    async with api.client.post(api.url + "/v1/workflows", json=greeting(), headers=key) as answer:
        assert (answer.status, answer.headers["Idempotent-Replayed"]) == (200, "true")
        assert (await answer.json())["version"] == first["version"] == 1
    await api.post("/v1/workflows", greeting(step("c")), 422, headers=key)
    assert (await api.get("/v1/workflows/greet"))["version"] == 2


async def test_many_who_publish_at_once_get_one_version_each(api: Served) -> None:
    definitions = [greeting(step(f"s{n % 3}")) for n in range(12)]
    await asyncio.gather(
        *(api.client.post(api.url + "/v1/workflows", json=given) for given in definitions)
    )
    versions = (await api.get("/v1/workflows/greet/versions"))["data"]
    numbers = [version["version"] for version in versions]
    assert numbers == list(range(len(numbers), 0, -1))
    hashes = [version["hash"] for version in versions]
    assert all(one != other for one, other in pairwise(hashes))


async def test_versions_are_listed_newest_first_and_never_change(api: Served) -> None:
    for name in "abc":
        await api.post("/v1/workflows", greeting(step(name)), 201)
    path = "/v1/workflows/greet/versions"
    first = await api.get(f"{path}?limit=2")
    assert [version["version"] for version in first["data"]] == [3, 2]
    rest = await api.get(f"{path}?limit=2&cursor={first['next_cursor']}")
    assert [version["version"] for version in rest["data"]] == [1]
    assert rest["next_cursor"] is None
    one = await api.get(f"{path}/1")
    assert (one["version"], one["definition"]) == (1, greeting(step("a")))
    assert one["published_by"]
    await api.get(f"{path}/4", 404)
    await api.get(f"{path}/0", 422)
    await api.get(f"{path}/x", 422)
    await api.get("/v1/workflows/nobody/versions", 404)


async def test_two_versions_are_compared(api: Served) -> None:
    await api.post("/v1/workflows", greeting(step("a", timeout="5s"), step("b")), 201)
    await api.post("/v1/workflows", greeting(step("a", timeout="9s"), step("c")), 201)
    path = "/v1/workflows/greet/diff"
    found = await api.get(path)
    assert (found["from"], found["to"], found["is_same"]) == (1, 2, False)
    assert [one["id"] for one in found["added"]] == ["c"]
    assert [one["id"] for one in found["removed"]] == ["b"]
    assert found["changed"] == [
        {"id": "a", "fields": [{"field": "timeout", "from": "5s", "to": "9s"}]}
    ]
    back = await api.get(f"{path}?from=2&to=1")
    assert [one["id"] for one in back["added"]] == ["b"]
    assert (await api.get(f"{path}?from=2&to=2"))["is_same"]
    await api.get(f"{path}?from=9", 404)
    await api.get(f"{path}?from=0", 422)


async def test_a_definition_is_exported_and_comes_back_the_same(api: Served) -> None:
    made = await api.post("/v1/workflows", None, 201, data=GREET, headers=YAML)
    path = f"{api.url}/v1/workflows/greet/export"
    async with api.client.get(path) as answer:
        assert answer.content_type == "application/yaml"
        text = await answer.text()
    same = await api.post("/v1/workflows", None, 200, data=text, headers=YAML)
    assert (same["version"], same["hash"]) == (1, made["hash"])
    async with api.client.get(f"{path}?format=json") as answer:
        assert await answer.json() == made["definition"]
    async with api.client.get(f"{path}?format=mermaid&version=1") as answer:
        assert answer.content_type == "text/vnd.mermaid"
        assert (await answer.text()).startswith("flowchart TD\n")
    await api.get("/v1/workflows/greet/export?format=xml", 422)
    await api.get("/v1/workflows/nobody/export", 404)


async def test_a_deleted_workflow_is_gone_but_its_versions_are_not(api: Served) -> None:
    await api.post("/v1/workflows", greeting(), 201)
    await api.call("DELETE", "/v1/workflows/greet", 204)
    await api.get("/v1/workflows/greet", 404)
    await api.call("DELETE", "/v1/workflows/greet", 404)
    assert (await api.get("/v1/workflows"))["data"] == []
    assert (await api.get("/v1/workflows/greet/versions/1"))["version"] == 1
    # The same once more brings it back, as the version that it was.
    assert (await api.post("/v1/workflows", greeting(), 200))["version"] == 1
    assert (await api.get("/v1/workflows/greet"))["version"] == 1


async def test_workflows_are_listed_by_name_in_pages_without_their_definitions(
    api: Served,
) -> None:
    for name in ("c", "a", "b"):
        await api.call("PUT", f"/v1/workflows/{name}", 201, json={"steps": [step("x")]})
    first = await api.get("/v1/workflows?limit=2")
    assert [workflow["name"] for workflow in first["data"]] == ["a", "b"]
    assert "definition" not in first["data"][0]
    rest = await api.get(f"/v1/workflows?limit=2&cursor={first['next_cursor']}")
    assert [workflow["name"] for workflow in rest["data"]] == ["c"]


async def test_a_published_version_cannot_be_changed_even_by_hand(api: Served) -> None:
    await api.post("/v1/workflows", greeting(), 201)
    async with by_hand(api.database) as connection:
        refused = ""
        try:
            await connection.execute("UPDATE windlass.workflow_version SET definition = '{}'")
        except Exception as trouble:
            refused = str(trouble)
    assert "published and final" in refused


async def test_a_draft_is_kept_as_it_is_and_published_when_it_is_right(api: Served) -> None:
    path = "/v1/workflows/greet/draft"
    await api.get(path, 404)
    kept = await api.call("PUT", path, 200, json={"steps": "to be drawn"})
    assert (kept["name"], kept["version"], kept["draft"]) == ("greet", 0, {"steps": "to be drawn"})
    assert await api.get(path) == kept
    listed = (await api.get("/v1/workflows"))["data"]
    assert [(one["version"], one["has_draft"]) for one in listed] == [(0, True)]
    told = await api.post(f"{path}/publish", status=422)
    assert told["errors"][0]["pointer"] == "/steps"
    await api.call("PUT", path, 200, json={"steps": [step("a")], "layout": {"a": [0, 0]}})
    made = await api.post(f"{path}/publish", status=201)
    assert (made["version"], made["has_draft"]) == (1, False)
    assert made["definition"]["layout"] == {"a": [0, 0]}
    await api.get(path, 404)
    await api.post(f"{path}/publish", status=404)


async def test_a_draft_is_thrown_away_and_what_was_only_a_draft_with_it(api: Served) -> None:
    path = "/v1/workflows/greet"
    await api.call("PUT", f"{path}/draft", 200, json={})
    await api.post(f"{path}/draft/discard", status=204)
    await api.get(path, 404)
    await api.post(f"{path}/draft/discard", status=404)
    await api.post("/v1/workflows", greeting(), 201)
    await api.call("PUT", f"{path}/draft", 200, json={"steps": []})
    await api.post(f"{path}/draft/discard", status=204)
    assert (await api.get(path))["has_draft"] is False
    await api.call("PUT", f"{path}/draft", 422, json=[1])


async def test_the_schema_of_definitions_is_published(api: Served) -> None:
    schema = await api.get("/schemas/workflow.json")
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert schema["required"] == ["name", "steps"]
