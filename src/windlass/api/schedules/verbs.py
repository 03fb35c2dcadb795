"""Pause and resume schedules, one or many at once."""

from __future__ import annotations

from typing import Any, Final

from starlette.types import ASGIApp

from windlass.api.http import body as bodies
from windlass.api.http import shapes as schemas
from windlass.api.http.body import fields_of, read_fields
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.parts import ApiParts
from windlass.api.schedules.filter import read_filter
from windlass.api.schedules.ref import ITS_REF, MANY, ONE, TAG, ref_of
from windlass.api.schedules.view import schedule_view
from windlass.engine.schedules.schedule import ScheduleFilter
from windlass.engine.schedules.schedules import pause_many, read_schedule, resume_many
from windlass.errors import InvalidInput
from windlass.limits import SCHEDULE_NOTE_CHARS_MAX
from windlass.model.job.submission import read_text
from windlass.model.json.value_schema import text_schema


class Verbs:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database

    async def pause(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        schedule = await read_schedule(self._database, ref_of(request))
        given = await read_fields(request, {"note": _note})
        where = ScheduleFilter(names=(schedule.name,))
        self._say(await pause_many(self._database, where, note=given.get("note")))
        return json_reply(schedule_view(await read_schedule(self._database, schedule.id)))

    async def resume(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        schedule = await read_schedule(self._database, ref_of(request))
        await bodies.read_nothing(request)
        self._say(await resume_many(self._database, ScheduleFilter(names=(schedule.name,))))
        return json_reply(schedule_view(await read_schedule(self._database, schedule.id)))

    async def pause_many(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        given = await _read_many(request, {"filter": read_filter, "note": _note})
        return self._changed(
            await pause_many(self._database, given["filter"], note=given.get("note"))
        )

    async def resume_many(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        given = await _read_many(request, {"filter": read_filter})
        return self._changed(await resume_many(self._database, given["filter"]))

    def _say(self, names: list[str]) -> None:
        if names:
            self._parts.announcer.schedules(names)

    def _changed(self, names: list[str]) -> ASGIApp:
        if names:
            # Of many it is enough to say none.
            self._parts.announcer.schedules([])
        return json_reply({"names": names, "count": len(names)})


async def _read_many(request: Call, readers: Any) -> dict[str, Any]:
    given = fields_of(await bodies.read_json(request), readers)
    if "filter" not in given:
        raise InvalidInput.at("/filter", 'say which: {"tags": ["nightly"]}; {} is all of them')
    return given


def _note(value: object) -> str:
    return read_text(value, SCHEDULE_NOTE_CHARS_MAX)


_NOTE_SCHEMA: Final = schemas.nullable(text_schema(SCHEDULE_NOTE_CHARS_MAX))


def routes(parts: ApiParts) -> list[Route]:
    verbs = Verbs(parts)
    shown = {200: Answer(description="The schedule", schema=schemas.ref("Schedule"))}
    changed = {
        200: Answer(description="Those that changed", schema=schemas.ref("SchedulesChanged"))
    }
    return [
        Route(
            method="POST",
            path=f"{MANY}/pause",
            needs="schedules:control",
            handle=verbs.pause_many,
            operation="post_schedules_pause_many",
            summary="Pause many schedules",
            description="`filter` says which; `{}` is all of them.",
            tag=TAG,
            body=_fields(filter=schemas.ref("ScheduleFilter"), note=_NOTE_SCHEMA),
            answers=changed,
            problems=(400, 413, 415),
        ),
        Route(
            method="POST",
            path=f"{MANY}/resume",
            needs="schedules:control",
            handle=verbs.resume_many,
            operation="post_schedules_resume_many",
            summary="Resume many schedules",
            description="What fell due while they were paused is skipped, and the ledger says so.",
            tag=TAG,
            body=_fields(filter=schemas.ref("ScheduleFilter")),
            answers=changed,
            problems=(400, 413, 415),
        ),
        Route(
            method="POST",
            path=f"{ONE}/pause",
            needs="schedules:control",
            handle=verbs.pause,
            summary="Pause a schedule",
            tag=TAG,
            path_schemas=ITS_REF,
            body={
                "type": "object",
                "additionalProperties": False,
                "properties": {"note": _NOTE_SCHEMA},
            },
            answers=shown,
            problems=(400, 404, 413, 415),
        ),
        Route(
            method="POST",
            path=f"{ONE}/resume",
            needs="schedules:control",
            handle=verbs.resume,
            summary="Resume a schedule",
            description="What fell due while it was paused is skipped, and the ledger says so.",
            tag=TAG,
            path_schemas=ITS_REF,
            answers=shown,
            problems=(400, 404, 413, 415),
        ),
    ]


def _fields(**properties: schemas.Schema) -> schemas.Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["filter"],
        "properties": properties,
    }
