"""Tasks that do nothing: in threads, on the users' loop and in processes, beside noop jobs.

All four are drained in the same way by a node of so many slots as everybody's has (see drain): what
is compared is what it costs to call a user's function, stop it when its time is up, and take its
result.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

from benchmarks import child, inside
from benchmarks.figures import drain
from benchmarks.measure import Figure, Run, Sample, compare
from benchmarks.stage import Stage
from windlass.config import Settings
from windlass.model.job.draft import Draft

APP = "benchmarks.tasks:plain"
NOOP = "noop jobs"
# The name of each task, and what is wanted of its rate; None: it is only shown.
TASKS = {"nothing": 0.5, "nothing_async": 0.7, "nothing_apart": None}
SHOWN = {
    "nothing": "tasks in threads",
    "nothing_async": "async tasks",
    "nothing_apart": "tasks in processes",
}
assert SHOWN.keys() == TASKS.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    redis_url: str
    jobs: int
    task: str


async def figures(stage: Stage) -> list[Figure]:
    # So many that a run lasts for seconds: in one second the machine's moods are half of it.
    jobs = stage.scale.task_jobs

    def run_of(task: str) -> Run:
        # A process is slower by far, and soon seen.
        count = jobs // 3 if task == "nothing_apart" else jobs
        return Run(name=SHOWN[task], once=lambda: measure(stage, task, count))

    series = await stage.interleave(
        [Run(name=NOOP, once=lambda: drain.measure(stage, jobs)), *map(run_of, TASKS)]
    )
    return [
        compare(series[SHOWN[task]], series[NOOP], at_least=at_least)
        for task, at_least in TASKS.items()
    ]


async def measure(stage: Stage, task: str, jobs: int) -> Sample:
    async with stage.database() as dsn:
        return await child.call(
            child.python("benchmarks.figures.sdk.tasks"),
            Request(dsn=dsn, redis_url=stage.redis_url, jobs=jobs, task=task),
            Sample,
        )


async def measure_here(request: Request) -> Sample:
    text = f'{{"task":"{request.task}"}}'
    jobs = [Draft(kind="python", input=text) for _ in range(request.jobs)]
    await inside.fill(request.dsn, jobs)
    async with inside.node(request.dsn, request.redis_url, Settings(app=APP)) as node:
        ends = inside.Ends(node.announcer, request.jobs)
        started = perf_counter()
        await ends.all()
        seconds = perf_counter() - started
    await inside.check_all_succeeded(request.dsn, request.jobs)
    return Sample.rate(request.jobs, seconds, "jobs/s")


if __name__ == "__main__":
    child.answer(Request, measure_here)
