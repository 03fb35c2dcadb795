"""Walk one job, one execution, one firing and one resize through the source, and count the doors.

    python -m tests.house.walk [--show]

A walk is what a node in this process calls meanwhile: the functions of the layers between the API
and the servers, in the order of their first call. Each is made six times; of the last five, what
all of them have in common and an idle node does not call is the way. Files and functions are how
much there is to read; a change of file is a function that stands elsewhere than the one before it.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

import asyncpg

import windlass
from tests.until import until
from windlass import App, ids
from windlass.compose.start import Windlass, start
from windlass.config import Settings
from windlass.strategies.python.task import tasks_of
from windlass.testing.servers import PrivateServers

ROOT: Final = f"{Path(windlass.__file__).parent}/"
LAYERS: Final = ("engine/", "model/", "runtime/", "store/", "strategies/", "fastlane/")
WALKS: Final = 6
IDLE_SECONDS: Final = 12.0

Call = tuple[str, str]  # a file and a function in it
app = App("walk")


@app.task
async def add(one: int, other: int) -> int:
    return one + other


@dataclass(slots=True)
class Recorder:
    """Every function that is called for the first time since `begin`, in all threads."""

    begins_with: str | None = None  # nothing counts before this function; None: everything does
    is_on: bool = False
    calls: dict[Call, None] = field(default_factory=dict)

    def begin(self, begins_with: str | None = None) -> None:
        self.calls = {}
        self.begins_with, self.is_on = begins_with, begins_with is None

    def end(self) -> list[Call]:
        self.is_on, self.begins_with = False, None
        return list(self.calls)

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(ROOT):
            return
        if code.co_qualname == self.begins_with:
            self.is_on = True
        file = code.co_filename.removeprefix(ROOT)
        if self.is_on and file.startswith(LAYERS) and not code.co_name.startswith("<"):
            self.calls[file, code.co_qualname] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    name: str
    begins_with: str | None
    ask: Callable[[int], Awaitable[str]]  # the number of the walk -> what to look for
    is_over: str  # SQL that says so, given that


def journeys(node: Windlass) -> list[Journey]:
    client = app.client

    async def submit(_number: int) -> str:
        return ids.parse("job", (await add.aenqueue(2, 3)).id).hex

    async def execute(_number: int) -> str:
        found = await client.executions.start("walk")
        return ids.parse("execution", found["id"]).hex

    async def fire(number: int) -> str:
        at = datetime.now(UTC) + timedelta(seconds=1)
        job = {"kind": "noop", "correlation_id": f"fired {number}"}
        await client.schedules.put(f"walk-{number}", {"at": at.isoformat(), "job": job})
        return f"fired {number}"

    async def resize(number: int) -> str:
        node_id = ids.show("node", node.node.node_id)
        found = await client.nodes.resize(node_id, workers=4 + number % 2)
        return ids.parse("operation", found["id"]).hex

    return [
        Journey(
            name="a job, from Enqueuer.submit to its row in the history",
            begins_with="Enqueuer.submit",
            ask=submit,
            is_over="SELECT count(*) FROM windlass.job_history WHERE id = $1::uuid",
        ),
        Journey(
            name="an execution of one step, from its start to its end",
            begins_with=None,
            ask=execute,
            is_over="SELECT count(*) FROM windlass.execution WHERE id = $1::uuid"
            " AND state = 'succeeded'",
        ),
        Journey(
            name="a firing, from its schedule to the end of its job",
            begins_with=None,
            ask=fire,
            is_over="SELECT count(*) FROM windlass.job_history WHERE correlation_id = $1",
        ),
        Journey(
            name="a resize, from the request to `done`",
            begins_with=None,
            ask=resize,
            is_over="SELECT count(*) FROM windlass.operation WHERE id = $1::uuid"
            " AND phase = 'done'",
        ),
    ]


async def walk(
    recorder: Recorder, journey: Journey, looking: asyncpg.Connection[Any]
) -> list[Call]:
    ways = []
    for number in range(WALKS):
        recorder.begin(journey.begins_with)
        sought = await journey.ask(number)
        is_over = partial(looking.fetchval, journey.is_over, sought)
        await until(is_over, what=journey.name, poll_seconds=0.005)
        ways.append(recorder.end())
        await asyncio.sleep(0.3)
    shared = set(ways[1]).intersection(*ways[2:])
    return [call for call in ways[-1] if call in shared]


async def main(is_shown: bool) -> None:
    recorder = Recorder()
    async with PrivateServers() as servers:
        node = await start(
            Settings(workers=4, drain_timeout_seconds=5.0),
            database_url=(url := await servers.create_database()),
            redis_url=servers.redis_url,
            serving=None,
            app=app,
            tasks=tasks_of(app),
        )
        looking = await asyncpg.connect(url)
        steps = [{"id": "one", "kind": "python", "input": {"task": "add", "args": [2, 3]}}]
        await app.client.workflows.put({"schema": "windlass/v1", "name": "walk", "steps": steps})
        await (await add.aenqueue(1, 2)).aresult()
        threading.setprofile(recorder)
        sys.setprofile(recorder)
        recorder.begin()
        await asyncio.sleep(IDLE_SECONDS)
        idle = set(recorder.end())
        print("files  functions  changes of file")
        for journey in journeys(node):
            way = [call for call in await walk(recorder, journey, looking) if call not in idle]
            files = [file for file, _ in way]
            changes = sum(a != b for a, b in itertools.pairwise(files))
            print(f"{len(set(files)):5}  {len(way):9}  {changes:15}   {journey.name}")
            if is_shown:
                print(*(f"    {file} {name}" for file, name in way), sep="\n")
        sys.setprofile(None)
        await looking.close()
        await node.drain()


if __name__ == "__main__":
    asyncio.run(main("--show" in sys.argv))
