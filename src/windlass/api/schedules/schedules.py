"""/v1/schedules: make, read, list, change, delete. Verbs and times have files of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from starlette.types import ASGIApp

from windlass import clock
from windlass.api.http import body as bodies
from windlass.api.http import shapes as schemas
from windlass.api.http.body import read_nothing
from windlass.api.http.caller import caller_of
from windlass.api.http.conditional import ETAG, TAKES, TAKES_BOTH, etag, precondition_of
from windlass.api.http.idempotency import REPLAYED, idempotency_of
from windlass.api.http.paging import SCHEDULES, page_reply
from windlass.api.http.query import Param, limit_param, name_param, tag_param, text_param
from windlass.api.http.reply import LOCATION, Header, created_reply, empty_reply, json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.parts import ApiParts
from windlass.api.schedules.body import patched, read_body
from windlass.api.schedules.filter import SOURCES, read_source
from windlass.api.schedules.ref import ITS_REF, KEY, MANY, ONE, TAG, fire_options, ref_of
from windlass.api.schedules.view import schedule_view
from windlass.api.schedules.work import check_workflow
from windlass.engine.idempotency import find_earlier_ids
from windlass.engine.jobs.request import Idempotency
from windlass.engine.schedules.decide import Fired
from windlass.engine.schedules.schedule import Schedule, ScheduleDraft, ScheduleFilter
from windlass.engine.schedules.schedules import (
    EditionConflict,
    delete_schedule,
    list_schedules,
    make_schedule,
    put_schedule,
    read_schedule,
)
from windlass.errors import Conflict, MalformedBody
from windlass.limits import NAME_CHARS_MAX, PAGE_DEFAULT
from windlass.model.job.submission import SubmissionContext
from windlass.model.json.etag import Precondition

_EDITION_MAX: Final = 2**31 - 1


class NameTaken(Conflict):
    """There is one of that name already."""

    code = "name_taken"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"there is a schedule {name!r} already; change it with PUT or PATCH {MANY}/{name}"
        )


class Schedules:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database
        self._fire_options = fire_options(parts)

    async def index(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.get("limit", PAGE_DEFAULT)
        where = ScheduleFilter(
            prefix=query.get("prefix"),
            tags=(query["tag"],) if "tag" in query else None,
            source=query.get("source"),
            is_paused=query.get("paused"),
            workflow=query.get("workflow"),
            queue=query.get("queue"),
        )
        found = await list_schedules(self._database, limit, query.get("cursor", ""), where=where)
        cursor = SCHEDULES.show(found[-1].name) if len(found) == limit else None
        return page_reply([schedule_view(schedule) for schedule in found], cursor)

    async def get(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        return _shown(await read_schedule(self._database, ref_of(request)))

    async def post(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        value, mark = await self._read(request)
        # Before it is judged: an instant that was to come may have passed since.
        if mark is not None and (known := await find_earlier_ids(self._database, mark)) is not None:
            return _shown(await read_schedule(self._database, known[0]), REPLAYED)
        draft = await self._draft(request, value, None)
        try:
            made, is_replayed = await make_schedule(self._database, draft, mark)
        except EditionConflict:
            kept = await read_schedule(self._database, draft.name)
            if mark is None or not _is_same(kept, draft):
                raise NameTaken(draft.name) from None
            return _shown(kept, REPLAYED)  # whoever deploys the same thing again means that one
        if is_replayed:
            return _shown(made, REPLAYED)
        self._parts.announcer.schedules([made.name])
        return _made(made)

    async def put(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        wanted = precondition_of(request)
        name = await self._name(ref_of(request))
        value, _ = await self._read(request)
        draft = await self._draft(request, value, name)
        return await self._put(draft, query.get("edition"), wanted)

    async def patch(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        wanted = precondition_of(request)
        kept = await read_schedule(self._database, ref_of(request))
        value, _ = await self._read(request)
        draft = await self._draft(request, patched(kept, value), kept.name)
        # What was not sent is as it was read; nobody may have changed it meanwhile.
        return await self._put(draft, query.get("edition", kept.edition), wanted)

    async def delete(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        ref = ref_of(request)
        await read_nothing(request)
        gone = await delete_schedule(self._database, ref)
        self._parts.announcer.schedules([gone.name])
        return empty_reply()

    async def _put(
        self, draft: ScheduleDraft, edition: int | None, wanted: Precondition
    ) -> ASGIApp:
        made, is_new, fired = await put_schedule(
            self._database, draft, edition=edition, options=self._fire_options, wanted=wanted
        )
        self._told(made, fired)
        return _made(made) if is_new else _shown(made)

    async def _read(self, request: Call) -> tuple[Any, Idempotency | None]:
        caller = caller_of(request.scope)
        bodies.check_type(caller)
        body = await bodies.read_bytes(request)
        if not body:
            raise MalformedBody.at("", "the body is empty; send a JSON object")
        mark = None
        if request.scope["method"] == "POST":
            mark = idempotency_of(caller, "POST", request.scope["path"], body)
        return await bodies.parse(body), mark

    async def _draft(self, request: Call, value: object, name: str | None) -> ScheduleDraft:
        context = SubmissionContext(
            kinds=self._parts.kinds,
            max_attempts=self._parts.settings.retry_max_attempts,
            owner=caller_of(request.scope).owner,
        )
        # In a thread: a calendar with countries takes a while to read.
        draft = await asyncio.to_thread(read_body, value, context, clock.wall(), name)
        await check_workflow(self._database, draft)
        return draft

    async def _name(self, ref: UUID | str) -> str:
        return ref if isinstance(ref, str) else (await read_schedule(self._database, ref)).name

    def _told(self, schedule: Schedule, fired: Fired) -> None:
        self._parts.announcer.schedules([schedule.name])
        self._parts.follower.follow(fired.effects)


def _made(schedule: Schedule) -> ASGIApp:
    where = f"/v1/schedules/{schedule.name}"
    return created_reply(schedule_view(schedule), where, etag(schedule.etag))


def _shown(schedule: Schedule, *headers: Header) -> ASGIApp:
    return json_reply(schedule_view(schedule), 200, etag(schedule.etag), *headers)


def _is_same(kept: Schedule, draft: ScheduleDraft) -> bool:
    drafted: Mapping[str, Any] = {
        "rule_json": draft.rule_json,
        "job": draft.job,
        "workflow": draft.workflow,
        "overlap": draft.overlap,
        "misfire": draft.misfire,
        "catchup_seconds": draft.catchup_seconds,
        "priority": draft.priority,
        "tags": draft.tags,
        "owner": draft.owner,
    }
    return all(getattr(kept, field) == value for field, value in drafted.items())


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("must be true or false")
    return text == "true"


def _edition(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:12]) <= _EDITION_MAX):
        raise ValueError("must be the number of an edition; 0: there must be none yet")
    return int(text)


def _edition_param() -> Param:
    return Param(
        name="edition",
        read=_edition,
        description="Refuse (409) unless it is at this edition; 0: unless there is none",
        schema={"type": "integer", "minimum": 0, "maximum": _EDITION_MAX},
    )


def _filters() -> tuple[Param, ...]:
    return (
        text_param("prefix", "Schedules whose name begins so", NAME_CHARS_MAX),
        tag_param("Schedules"),
        Param(
            name="source",
            read=read_source,
            description="Where they come from",
            schema={"type": "string", "enum": list(SOURCES)},
        ),
        Param(
            name="paused",
            read=_flag,
            description="Those that are paused, or those that are not",
            schema={"type": "boolean"},
        ),
        name_param("workflow", "Schedules that start this workflow"),
        name_param("queue", "Schedules whose jobs go there"),
    )


def routes(parts: ApiParts) -> list[Route]:
    schedules = Schedules(parts)
    shown = schemas.ref("Schedule")
    made = Answer(description="Made", schema=shown, headers={**LOCATION, **ETAG})
    put_answers = {
        200: Answer(
            description="Changed; no instant is lost or doubled by it", schema=shown, headers=ETAG
        ),
        201: made,
    }
    return [
        Route(
            method="GET",
            path=MANY,
            needs="schedules:read",
            handle=schedules.index,
            summary="List schedules by name",
            tag=TAG,
            query=(limit_param(), SCHEDULES.param(), *_filters()),
            answers={
                200: Answer(description="A page of schedules", schema=schemas.page_of("Schedule"))
            },
        ),
        Route(
            method="POST",
            path=MANY,
            needs="schedules:edit",
            handle=schedules.post,
            summary="Make a schedule",
            description="One of `cron`, `every` and `at`; and a `job` or a `workflow`.",
            tag=TAG,
            headers=KEY,
            body=schemas.ref("ScheduleDraft"),
            answers={
                201: made,
                200: Answer(
                    description="This Idempotency-Key was answered before",
                    schema=shown,
                    headers={**ETAG, "Idempotent-Replayed": "`true`: this key was answered before"},
                ),
            },
            problems=(400, 404, 409, 413, 415),
        ),
        Route(
            method="GET",
            path=ONE,
            needs="schedules:read",
            handle=schedules.get,
            summary="Read a schedule",
            tag=TAG,
            path_schemas=ITS_REF,
            answers={200: Answer(description="The schedule", schema=shown, headers=ETAG)},
            problems=(404,),
        ),
        Route(
            method="PUT",
            path=ONE,
            needs="schedules:edit",
            handle=schedules.put,
            summary="Make a schedule, or replace it",
            description="What fell due by the old rule is decided first, the new one goes on "
            "from there. Its ledger, and whether it is paused, stay.",
            tag=TAG,
            path_schemas=ITS_REF,
            query=(_edition_param(),),
            headers=TAKES_BOTH,
            body=schemas.ref("SchedulePut"),
            answers=put_answers,
            problems=(400, 404, 409, 412, 413, 415),
        ),
        Route(
            method="PATCH",
            path=ONE,
            needs="schedules:edit",
            handle=schedules.patch,
            summary="Change some fields of a schedule",
            description="null takes a field away. Another `cron`, `every` or `at` replaces the "
            "rule that was there, a `job` the `workflow`, and the other way round.",
            tag=TAG,
            path_schemas=ITS_REF,
            query=(_edition_param(),),
            headers=TAKES,
            body=schemas.ref("ScheduleChange"),
            answers=put_answers,
            problems=(400, 404, 409, 412, 413, 415),
        ),
        Route(
            method="DELETE",
            path=ONE,
            needs="schedules:edit",
            handle=schedules.delete,
            summary="Delete a schedule; what it has made goes on",
            tag=TAG,
            path_schemas=ITS_REF,
            answers={204: Answer(description="It is gone")},
            problems=(404,),
        ),
    ]
