"""The OpenAPI document is good enough to program against: as TypeScript, as a caller would."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.api.served import Served

HERE = Path(__file__).parent / "types"
TOOLS = Path(__file__).parents[3] / ".venv" / "types" / "node_modules" / ".bin"


async def run(*command: str, cwd: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=cwd, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()[-4000:]


@pytest.mark.timeout(300)  # Node takes its time on a busy machine
async def test_typescript_made_of_the_document_compiles_and_says_what_callers_need(
    door: Served, tmp_path: Path
) -> None:
    assert TOOLS.is_dir(), "`make test` installs them; or `make .venv/types`"
    (tmp_path / "openapi.json").write_text(json.dumps(await door.get("/openapi.json")))
    for name in ("use.ts", "tsconfig.json"):
        shutil.copy(HERE / name, tmp_path)
    await run(str(TOOLS / "openapi-typescript"), "openapi.json", "-o", "windlass.ts", cwd=tmp_path)
    await run(str(TOOLS / "tsc"), "--project", str(tmp_path), cwd=tmp_path)


def schemas_in(found: Any) -> list[dict[str, Any]]:
    """Every schema and every object below, but for examples."""
    if isinstance(found, list):
        return [schema for part in found for schema in schemas_in(part)]
    if not isinstance(found, dict):
        return []
    below = [
        # A property may be called as a keyword is.
        list(part.values()) if name == "properties" else part
        for name, part in found.items()
        if name not in ("enum", "const", "default")
    ]
    return [found, *schemas_in(below)]


async def test_no_operation_schema_or_field_goes_without_words(door: Served) -> None:
    document = await door.get("/openapi.json")
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], (method, path)
            assert operation["description"], (method, path)
            for parameter in operation.get("parameters", ()):
                assert parameter["description"], (method, path, parameter["name"])
    for name, schema in document["components"]["schemas"].items():
        assert schema["description"], name
    for schema in schemas_in(document):
        fields = schema.get("properties", {})
        if "type" in schema and isinstance(fields, dict):
            assert {n for n, field in fields.items() if "description" not in field} == set()
    named = {tag["name"]: tag["description"] for tag in document["tags"]}
    used = {o["tags"][0] for methods in document["paths"].values() for o in methods.values()}
    assert named.keys() == used
    assert document["servers"]


async def test_no_object_is_left_bare(door: Served) -> None:
    """TypeScript would take `{"type": "object"}` for an object that holds nothing."""
    document = await door.get("/openapi.json")
    for schema in schemas_in(document):
        if schema.get("type") == "object":
            assert {"properties", "additionalProperties"} & schema.keys(), schema


async def test_the_type_of_a_problem_leads_to_a_page_about_it(door: Served) -> None:
    problem = await door.get("/v1/queues/nowhere", 404)
    async with door.client.get(door.url + problem["type"], headers={"Authorization": ""}) as page:
        assert page.status == 200
        assert page.content_type == "text/html"
        assert problem["code"] in await page.text()
    async with door.client.get(f"{door.url}/problems") as listed:
        text = await listed.text()
    assert "queue_full" in text
    assert (await door.get("/problems/no_such_problem", 404))["code"] == "not_found"


async def test_every_problem_is_explained() -> None:
    from windlass.api.http.problem_pages import known

    assert {code for code, (_, words) in known().items() if not words} == set()
