"""/v1/jobs: read, list, wait for (long polling), and the verbs on one job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http import shapes as schemas
from windlass.api.http.body import read_json, read_nothing
from windlass.api.http.caller import caller_of
from windlass.api.http.host import target_param
from windlass.api.http.paging import JOBS, Cursors, PageReply, page_reply
from windlass.api.http.query import (
    choices_param,
    created_params,
    finished_params,
    id_param,
    id_schema,
    instant_param,
    limit_param,
    name_param,
    tag_param,
    text_param,
    wait_param,
)
from windlass.api.http.reply import empty_reply, json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.jobs.view import job_view
from windlass.api.parts import ApiParts
from windlass.engine.effects import Effects
from windlass.engine.executions.replay_steps import SeenEnd
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.history import job_at
from windlass.engine.jobs.read import JobFilter, list_jobs, read_job
from windlass.engine.jobs.replay import delete, promote, replay
from windlass.engine.jobs.task_log import read_progress
from windlass.errors import Conflict, FieldProblem, InvalidInput
from windlass.limits import HINT_JOBS_MAX, PAGE_DEFAULT
from windlass.model.identity.principal import Confined, Principal
from windlass.model.job.states import STATES, is_terminal
from windlass.store.database import Record


def job_id_of(request: Call) -> UUID:
    """The id in the path. Raises InvalidInput for what is no job id."""
    try:
        return ids.parse("job", request.path_params["job_id"])
    except ValueError as trouble:
        raise InvalidInput.at("{job_id}", str(trouble)) from None


def read_ids(value: object, count_max: int) -> list[UUID]:
    """What stands under `ids` of a body: job ids, each once. Raises InvalidInput."""
    if not isinstance(value, list) or not 1 <= len(value) <= count_max:
        raise InvalidInput.at("/ids", f"must be a list of 1 to {count_max} job ids")
    found: dict[UUID, None] = {}
    problems = []
    for place, text in enumerate(value):
        try:
            found[ids.parse("job", text if isinstance(text, str) else "")] = None
        except ValueError as trouble:
            problems.append(FieldProblem(pointer=f"/ids/{place}", detail=str(trouble)))
    if problems:
        raise InvalidInput(*problems)
    return list(found)


def check_queue_of_list(principal: Principal, queue: str | None) -> None:
    """Who is confined lists one of his queues at a time. Raises Confined."""
    if not principal.is_confined:
        return
    if queue is None:
        raise Confined("queue", None, principal.queues or ())
    principal.check_queue(queue)


class Jobs:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database

    async def index(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.pop("limit", PAGE_DEFAULT)
        before = query.pop("cursor", None)
        check_queue_of_list(caller_of(request.scope).known, query.get("queue"))
        which = JobFilter(states=query.pop("state", ()), **query)
        rows = await list_jobs(self._database, which, limit, before)
        return jobs_page(rows, limit, await self._progress(rows))

    async def get(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        job_id = job_id_of(request)
        if "at" in query:  # the past does not change while somebody waits
            return json_reply(job_view(await job_at(self._database, job_id, query["at"])))
        row = await read_job(self._database, job_id)
        if "wait" in query and not is_terminal(row["state"]):
            await self._parts.waiters.ended(job_id, query["wait"])
            row = await read_job(self._database, job_id)
        return json_reply(job_view(row, (await self._progress([row])).get(job_id)))

    async def _progress(self, rows: Sequence[Record]) -> dict[UUID, Record]:
        """Of those that may have said something: tasks that have begun."""
        may = [row["id"] for row in rows if row["kind"] == "python" and row["started_at"]]
        return await read_progress(self._database, may) if may else {}

    async def cancel(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        job_id = job_id_of(request)
        await read_nothing(request)
        done = await cancel(self._database, [job_id], is_recorded=True)
        self._parts.follower.follow(done)
        row = await read_job(self._database, job_id)
        if (
            is_terminal(row["state"])
            and row["state"] != "cancelled"
            and job_id not in done.stopping
        ):
            raise Conflict(f"{ids.show('job', job_id)} has ended already as {row['state']}")
        # A running job is asked to stop, which takes its time.
        return json_reply(job_view(row), 200 if is_terminal(row["state"]) else 202)

    async def retry(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        job_id = job_id_of(request)
        await read_nothing(request)
        row = await read_job(self._database, job_id)
        if is_terminal(row["state"]):
            # As it was seen: somebody else may have been first, and it may have ended well since.
            seen = SeenEnd(state=row["state"], by=row["finished_at"])
            moved = await replay(self._database, [job_id], seen=seen, is_strict=True)
            if not moved:
                await self._check_is_back(job_id)
            self._parts.announcer.marks(executions_of(moved), is_urgent=True)
        elif row["state"] == "queued" and row["attempt"] > 0:
            moved = await promote(self._database, [job_id])
        else:
            raise Conflict(
                f"{ids.show('job', job_id)} is {row['state']}; what has ended, or waits for its "
                "next try, can be retried"
            )
        return await self._moved(job_id, moved)

    async def promote(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        job_id = job_id_of(request)
        await read_nothing(request)
        moved = await promote(self._database, [job_id])
        if not moved:
            row = await read_job(self._database, job_id)
            if row["state"] != "queued":
                raise Conflict(
                    f"{ids.show('job', job_id)} is {row['state']}; only queued jobs are promoted"
                )
            if row["parked_at"] is None:
                # It was due: a job that came by SQL, perhaps, and that no node has heard of.
                self._parts.announcer.rows([row])
        return await self._moved(job_id, moved)

    async def hint(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        body = await read_json(request)
        if not isinstance(body, dict) or body.keys() != {"ids"}:
            raise InvalidInput.at("", 'must be {"ids": ["job_…"]}')
        asked = read_ids(body["ids"], HINT_JOBS_MAX)
        lines = await self._database.read("job_line_many", asked)
        self._parts.announcer.rows(lines)
        if any(line["has_locks"] for line in lines):
            self._parts.follower.follow(Effects(look_seconds=0.0))
        return empty_reply()

    async def delete(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        job_id = job_id_of(request)
        await read_nothing(request)
        if not await delete(self._database, [job_id]):
            row = await read_job(self._database, job_id)
            what = f"{ids.show('job', job_id)} is {row['state']}"
            if is_terminal(row["state"]):
                raise Conflict(f"{what}, and a step of an execution that goes on")
            raise Conflict(f"{what}; only what has ended can be deleted")
        return empty_reply()

    async def _check_is_back(self, job_id: UUID) -> None:
        """Raises Conflict when somebody else's retry was first, and has ended."""
        row = await read_job(self._database, job_id)
        if is_terminal(row["state"]):
            raise Conflict(
                f"{ids.show('job', job_id)} was retried by somebody else meanwhile, "
                f"and has ended as {row['state']}"
            )

    async def _moved(self, job_id: UUID, moved: list[Record]) -> ASGIApp:
        self._parts.announcer.rows(moved)
        return json_reply(job_view(await read_job(self._database, job_id)))


def executions_of(replayed: list[Record]) -> set[UUID]:
    """Those that go on because steps of theirs were brought back."""
    return {row["execution_id"] for row in replayed if row["execution_id"] is not None}


def jobs_page(
    rows: list[Record],
    limit: int,
    progress: Mapping[UUID, Record] | None = None,
    *,
    cursors: Cursors = JOBS,
) -> PageReply:
    cursor = cursors.show(rows[-1]["id"].hex) if len(rows) == limit else None
    return page_reply([job_view(row, (progress or {}).get(row["id"])) for row in rows], cursor)


FILTERS = (
    name_param("queue", "Jobs of this queue"),
    name_param("kind", "Jobs of this kind"),
    text_param("task", "Jobs of this Python function"),
    tag_param(),
    target_param(),
)
# Which jobs a list shows, and a bulk operation is about.
STATE = choices_param("state", STATES, "Jobs in one of these states")
JOB_FILTERS = (
    STATE,
    *FILTERS,
    id_param("execution_id", "execution", "Jobs of this execution"),
    text_param("correlation_id", "Jobs with this correlation id"),
    text_param("key", "The job with this unique key"),
    *created_params("Jobs"),
    *finished_params("Jobs"),
)


def routes(parts: ApiParts) -> list[Route]:
    jobs = Jobs(parts)
    one = "/v1/jobs/{job_id:str}"
    shown = Answer(description="The job", schema=schemas.ref("Job"))
    its_id = {"job_id": id_schema("job")}
    listed = Route(
        method="GET",
        path="/v1/jobs",
        needs="jobs:read",
        confined_by="asked",
        handle=jobs.index,
        summary="List jobs, newest first",
        tag="Jobs",
        query=(*JOB_FILTERS, limit_param(), JOBS.param()),
        answers={200: Answer(description="A page of jobs", schema=schemas.page_of("Job"))},
    )
    read = Route(
        method="GET",
        path=one,
        needs="jobs:read",
        confined_by="job",
        handle=jobs.get,
        summary="Read a job",
        tag="Jobs",
        description="With `wait` the answer comes as soon as the job has ended, or as it is then.",
        query=(wait_param(), instant_param("at", "The job as it was at this instant")),
        path_schemas=its_id,
        answers={200: shown},
        problems=(404,),
    )
    deleted = Route(
        method="DELETE",
        path=one,
        needs="jobs:control",
        confined_by="job",
        handle=jobs.delete,
        summary="Forget a job that has ended",
        tag="Jobs",
        path_schemas=its_id,
        answers={204: Answer(description="It is forgotten")},
        problems=(404, 409),
    )
    asked = Answer(description="It runs, and is asked to stop", schema=schemas.ref("Job"))
    verbs = [
        Route(
            method="POST",
            path=f"{one}/{verb}",
            needs="jobs:control",
            confined_by="job",
            handle=handle,
            summary=summary,
            tag="Jobs",
            matters_twice=verb == "retry",
            path_schemas=its_id,
            answers=answers,
            problems=(404, 409),
        )
        for verb, handle, summary, answers in (
            ("cancel", jobs.cancel, "Cancel a job, wherever it is", {200: shown, 202: asked}),
            ("retry", jobs.retry, "Try again what has ended or waits for a retry", {200: shown}),
            ("promote", jobs.promote, "Make a waiting job due now", {200: shown}),
        )
    ]
    hinted = Route(
        method="POST",
        path="/v1/jobs/hint",
        needs="jobs:submit",
        handle=jobs.hint,
        summary="Tell the nodes of jobs that were committed by SQL",
        tag="Jobs",
        description="For jobs of `windlass.enqueue`, after the commit: the nodes look for them "
        "now and not when they would have by themselves. Only the time changes; ids that nobody "
        "knows are passed over.",
        body={
            "type": "object",
            "additionalProperties": False,
            "required": ["ids"],
            "properties": {
                "ids": {
                    "type": "array",
                    "items": id_schema("job"),
                    "minItems": 1,
                    "maxItems": HINT_JOBS_MAX,
                }
            },
        },
        answers={204: Answer(description="They were told")},
        problems=(400, 413, 415),
    )
    return [listed, read, deleted, hinted, *verbs]
