"""The schemas are as strict as the server: what is valid by schema is refused for nothing else than
what no schema can say."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections import Counter
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import pytest
from aiohttp import ClientResponse
from yarl import URL

from tests.api.acting_node import ActingNode
from tests.api.conftest import Serve
from tests.api.executions.flows import publish, start
from tests.api.http.generated import Request, valid_requests
from tests.api.http.unsayable import holes_in
from tests.api.served import Served, insist
from windlass import ids
from windlass.config import Settings

SEED = int(os.environ.get("WINDLASS_TEST_SEED", "1"))
EXAMPLES = 12
AT_ONCE = 4
# The state of things, which a caller learns by asking: a token that is good, not there, in the way,
# newer, full.
OF_STATE = frozenset((401, 404, 409, 412, 429))
SHOWN_MAX = 40


@dataclass(slots=True)
class Tally:
    sent: int = 0
    refused: int = 0
    holes: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    # One request for each sort of hole, and how many there were of it.
    examples: dict[tuple[str, str, str], str] = field(default_factory=dict)
    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def hole(self, request: Request, pointer: str, detail: str) -> None:
        sort = (request.operation, re.sub(r"/\d+", "/*", pointer), detail[:120])
        self.counts[sort] += 1
        self.examples.setdefault(sort, str(request))

    def told(self) -> str:
        head = f"seed {SEED}: {self.sent} sent, {self.refused} refused, {self.holes} for holes; "
        lines = [
            f"{count:5} {' '.join(sort[:2])}: {sort[2]}\n      {self.examples[sort]}"
            for sort, count in self.counts.most_common(SHOWN_MAX)
        ]
        return "\n".join([head + str(dict(self.statuses)), *lines])


@pytest.mark.timeout(1800)  # some thousand requests
async def test_what_is_valid_by_schema_is_refused_only_for_what_no_schema_can_say(
    serve_with: Serve,
) -> None:
    api = await serve_with(Settings())
    known = await things_that_are_there(api)
    document = await api.get("/openapi.json")
    requests = valid_requests(document, api.url, known, seed_number=SEED, examples=EXAMPLES)
    made = await asyncio.to_thread(list, requests)
    tally, queue = Tally(), iter(made)

    async def send() -> None:
        for request in queue:
            await judge(api, request, tally)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(send())
    assert tally.holes == 0, tally.told()
    assert tally.sent > 3_500


@pytest.mark.parametrize(
    ("operation", "pointer", "detail"),
    [
        ("POST /v1/jobs", "/priority", "must be one of: low normal high critical"),
        ("POST /v1/jobs", "/deadline", "must be an instant with its offset"),
        ("POST /v1/jobs", "/input/url", "must start with http:// or https:// and name a host"),
        ("POST /v1/schedules", "", "say when: cron, every or at (an instant)"),
        ("POST /v1/schedules", "/cron", "has 1 fields; five are: minute hour"),
        ("POST /v1/workflows", "/steps/0/join", "asks for 1 and the step has 0 needs"),
        ("POST /v1/workflows", "/steps/0/timeout", "must be at least a millisecond"),
    ],
)
def test_a_refusal_that_a_schema_could_have_said_is_a_hole(
    operation: str, pointer: str, detail: str
) -> None:
    error = {"pointer": pointer, "detail": detail}
    problem = {"code": "invalid_input", "detail": "it is not", "errors": [error]}
    assert list(holes_in(operation, problem)) == [(pointer, detail)]


async def answer_to(api: Served, request: Request) -> tuple[int, str]:
    """Four at once change the same things: one of them may be told to come again."""
    url = URL(request.url, encoded=True)

    def ask() -> AbstractAsyncContextManager[ClientResponse]:
        return api.client.request(
            request.method, url, headers=request.headers, data=BytesIO(request.body or b"")
        )

    async with insist(ask, tries=20) as answer:
        # Which may be without an end.
        return answer.status, await answer.text() if answer.status >= 400 else ""


async def judge(api: Served, request: Request, tally: Tally) -> None:
    tally.sent += 1
    status, text = await answer_to(api, request)
    tally.statuses[status] += 1
    assert status < 500, f"seed {SEED}: {status} {text}\n{request}"
    if status < 400 or status in OF_STATE:
        return
    problem: dict[str, Any] = json.loads(text)
    tally.refused += 1
    holes = list(holes_in(request.operation, problem))
    tally.holes += bool(holes)
    for pointer, detail in holes:
        tally.hole(request, pointer, f"{problem['status']} {detail}")


async def things_that_are_there(api: Served) -> dict[str, dict[str, str]]:
    """By the beginning of a path: what its parameters may be, so that something answers to them."""
    node = await ActingNode(database=api.database).join(lease_seconds=600)
    job = await api.submit()
    schedule = {"name": "nightly", "cron": "0 3 * * *", "job": {"kind": "noop"}}
    await api.post("/v1/schedules", schedule, 201)
    await publish(api, [{"id": "a", "kind": "noop"}])
    execution = await start(api)
    await api.post("/v1/locks/gpu", {}, 201)
    return {
        "/v1/jobs": {"job_id": job["id"]},
        "/v1/executions": {"execution_id": execution["id"]},
        "/v1/schedules": {"schedule": "nightly"},
        "/v1/workflows": {"name": "flow", "version": "1"},
        "/v1/nodes": {"node_id": ids.show("node", node.node_id)},
        "/v1/locks": {"name": "gpu"},
    }
