"""The OpenAPI document says what is done, and what is done is what it says."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.api.conftest import Serve
from tests.api.served import Served
from windlass.api.jobs.view import JobView
from windlass.config import Settings
from windlass.model.job import submission
from windlass.strategies.builtin import INPUT_CHECKS

SEED = int(os.environ.get("WINDLASS_TEST_SEED", "1"))
# Rules that no schema can say, such as a deadline still to come or the longer of two durations,
# are refused with 422; tests/api/http/unsayable.py has all of them.
MAY_REFUSE = (
    "jobs(/batch)?",
    "targets/[^/]+",
    "workflows(/[^/]+(/draft(/publish)?|/executions)?)?",
    "executions/[^/]+/(rerun|signals/[^/]+)",
    "schedules(/[^/]+(/backfill)?)?",
    "users|keys",
)
CONFIG = f"""
request-timeout = 60
seed = {SEED}

[[operations]]
include-name = "GET /v1/events/stream"
enabled = false

[[operations]]
include-path-regex = "^/v1/(jobs|executions)/[^/]+$"
parameters = {{ "query.wait" = "10ms" }}

[[operations]]
include-path-regex = "^/v1/({"|".join(MAY_REFUSE)})$"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "412", "422", "429"]

# Nobody can guess an ETag.
[[operations]]
include-path-regex = "^/v1/(queues|secrets|nodes|locks|users)/[^/]+$"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "412", "429"]
"""


# The requests of one test each, so that they are made side by side: to think of definitions of
# workflows takes the longest. Chains lead from one part to another and are a test of their own.
PARTS = (
    "/v1/workflows",
    "/v1/workflows/{name}",
    "/v1/workflows/.+",
    "/v1/schedules.*",
    "/v1/(jobs|dead-letters).*",
    "/v1/(sessions?|users|keys).*",
    ".*",
)
BY_THEMSELVES, IN_CHAINS = "examples,coverage,fuzzing", "stateful"


def part_of(path: str) -> str:
    """The first that fits."""
    return next(part for part in PARTS if re.fullmatch(_pattern(part), path))


def _pattern(part: str) -> str:
    return part.replace("{name}", r"\{name\}")


@pytest.mark.timeout(1800)  # some thousand requests each: by far the longest of all
@pytest.mark.parametrize("part", PARTS)
async def test_every_answer_to_generated_requests_is_as_documented(
    serve_with: Serve, tmp_path: Path, part: str
) -> None:
    """Schemathesis with all its checks: no 5xx, every answer fits its schema, bad data is refused,
    and no route is served to a caller without a key."""
    api = await serve_with(Settings(secret_key="0f" * 32))
    document = await api.get("/openapi.json")
    paths = [path for path in document["paths"] if part_of(path) == part]
    assert paths
    chosen = [word for path in paths for word in ("--include-path", path)]
    await schemathesis(api, tmp_path, "--phases", BY_THEMSELVES, *chosen)


@pytest.mark.timeout(1800)
async def test_every_answer_in_a_chain_of_generated_requests_is_as_documented(
    serve_with: Serve, tmp_path: Path
) -> None:
    """What one answer tells is what the next request asks for."""
    api = await serve_with(Settings(secret_key="0f" * 32))
    await schemathesis(api, tmp_path, "--phases", IN_CHAINS)


# Large bodies are thought of at length by whoever may send them (above); who may not is refused
# before they are read.
HEAVY = (
    r"^/v1/(workflows(/\{name\}(/draft)?|/validate)?|jobs(/batch|/bulk)?"
    r"|schedules(/preview|/\{schedule\})?|dead-letters/(replay|discard))$"
)
CALLERS = ("nobody", "viewer", "operator")
# One in so many of the requests that there are, and of each caller at least so many: five thousand
# together.
SHARE, REQUESTS_MIN = 3, 1_700


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("who", CALLERS)
async def test_every_answer_is_as_documented_whoever_asks(
    serve_with: Serve, tmp_path: Path, who: str
) -> None:
    """All checks again for who may do less: 401 and 403 are answers like any other, and what is
    behind them is not reached. Who has no key is not told which methods there are."""
    api = await serve_with(Settings(secret_key="0f" * 32))
    options, token = ["--phases", "coverage", "--exclude-path-regex", HEAVY], ""
    if who == "nobody":
        options += ["--exclude-checks", "unsupported_method"]
    else:
        token = (await api.post("/v1/keys", {"name": who, "role": who}, 201))["token"]
    said = await schemathesis(api, tmp_path, *options, token=token, share=SHARE)
    found = re.search(r"(\d+) generated", said)
    print(f"{who}: {found and found[0]}")
    assert found is not None, said
    assert int(found[1]) >= REQUESTS_MIN, said


async def schemathesis(
    api: Served, folder: Path, *options: str, token: str | None = None, share: int = 1
) -> str:
    """What it says. `token` None: the admin's key; empty: none."""
    key = api.key if token is None else token
    config = folder / "schemathesis.toml"
    config.write_text(CONFIG)
    run = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("schemathesis")),
        *(
            "--config-file",
            str(config),
            "run",
            f"{api.url}/openapi.json",
            "--max-examples",
            "2",
        ),
        *(("-H", f"Authorization: Bearer {key}") if key else ()),
        "--suppress-health-check=large_base_example",  # a definition is large
        *options,
        cwd=folder,
        env={
            **os.environ,
            "SCHEMATHESIS_HOOKS": "tests.api.http.fresh_keys",
            "WINDLASS_TEST_SHARE": str(share),
            "PYTHONPATH": str(Path(__file__).parents[3]),
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await run.communicate()
    assert run.returncode == 0, f"seed {SEED}\n{said.decode()[-8000:]}"
    return said.decode()


async def test_the_document_names_every_field_of_a_job_and_of_a_submission(door: Served) -> None:
    document = await door.get("/openapi.json")
    assert document["openapi"].startswith("3.1")
    schemas = document["components"]["schemas"]
    shown = [field.encode_name for field in msgspec.structs.fields(JobView)]
    assert list(schemas["Job"]["properties"]) == shown == schemas["Job"]["required"]
    kinds = {job["properties"]["kind"]["const"]: job for job in schemas["Submission"]["oneOf"]}
    assert kinds.keys() == INPUT_CHECKS.keys()
    for job in kinds.values():
        assert job["properties"].keys() == submission.FIELDS.keys()


async def test_every_operation_describes_its_answers_and_its_problems(door: Served) -> None:
    document = await door.get("/openapi.json")
    names: set[str] = set()
    for path, methods in document["paths"].items():
        for operation in methods.values():
            names.add(operation["operationId"])
            responses: dict[str, Any] = operation["responses"]
            assert "422" in responses
            is_login = operation["operationId"] in ("post_session", "get_session_oidc_callback")
            assert ("401" in responses) != (operation.get("security") == [] and not is_login)
            for code, response in responses.items():
                if int(code) >= 400 and not path.startswith("/health"):
                    assert "application/problem+json" in response["content"], (path, code)
    assert len(names) == sum(len(methods) for methods in document["paths"].values())


async def test_the_documentation_is_one_page_that_needs_nothing_from_elsewhere(
    door: Served,
) -> None:
    async with door.client.get(door.url + "/docs") as answer:
        assert answer.content_type == "text/html"
        page = await answer.text()
    assert "/v1/dead-letters/groups" in page
    assert "<script" not in page
    assert "http://" not in page.replace(door.url, "")
