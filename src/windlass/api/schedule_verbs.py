"""What can be done to schedules: pause, resume, trigger, backfill; and many at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from litestar.types import ASGIApp

from windlass.api import body as bodies
from windlass.api import schemas
from windlass.api.caller import caller_of
from windlass.api.fields import fields_of, read_fields
from windlass.api.idempotency import REPLAYED, idempotency_of
from windlass.api.parts import ApiParts
from windlass.api.query import INSTANT_SCHEMA, text_schema
from windlass.api.reply import json_reply
from windlass.api.route import Answer, Call, Route
from windlass.api.schedule_filter import read_filter
from windlass.api.schedule_view import firing_view, schedule_view
from windlass.api.schedules import ITS_REF, KEY, MANY, ONE, TAG, fire_rules, ref_of
from windlass.engine.backfill import BackfillTooLarge, backfill, count_backfill
from windlass.engine.ledger import list_firings
from windlass.engine.once import record, take
from windlass.engine.schedule import Firing, ScheduleFilter
from windlass.engine.schedules import pause_many, read_schedule, resume_many
from windlass.engine.trigger import trigger
from windlass.errors import FieldProblem, InvalidInput, NotFound
from windlass.limits import SCHEDULE_NOTE_CHARS_MAX
from windlass.model.fire_decision import MADE
from windlass.model.submission import read_instant, read_text

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class Verbs:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database
        self._rules = fire_rules(parts)

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

    async def trigger(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        schedule = await read_schedule(self._database, ref_of(request))
        await bodies.read_nothing(request)
        mark = idempotency_of(caller_of(request.scope), "POST", request.scope["path"], b"")
        if mark is not None and (known := await take(self._database, mark)) is not None:
            kept = await self._firing(known)
            return json_reply(firing_view(kept), 200, REPLAYED)
        firing, fired = await trigger(self._database, schedule.id, rules=self._rules)
        self._parts.follower.fired(fired)
        told = _told(firing)
        if mark is not None:
            await record(self._database, mark, told)
        # As the ledger has it, which knows better when it was.
        kept = await self._firing(told)
        return json_reply(firing_view(kept), 201 if kept.state in MADE else 200)

    async def backfill(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        ref = ref_of(request)
        given = await read_fields(request, _BACKFILL)
        missing = [field for field in ("from", "to") if field not in given]
        if missing:
            raise InvalidInput(
                *(
                    FieldProblem(pointer=f"/{field}", detail="say from when and up to when")
                    for field in missing
                )
            )
        if given["to"] <= given["from"]:
            raise InvalidInput.at("/to", "must lie after from")
        stretch = given["from"], given["to"]
        counted = await count_backfill(self._database, ref, *stretch)
        answer = {
            "dry_run": bool(given.get("dry_run")),
            "count": counted.instants - (counted.made or 0),
            "made": counted.made,
            "limit": counted.most,
            "fired": 0,
            "skipped": 0,
        }
        if answer["dry_run"]:
            return json_reply(answer)
        if counted.instants > counted.most:
            raise BackfillTooLarge(counted.instants)
        done = await backfill(self._database, ref, *stretch, rules=self._rules)
        for part in done.parts:
            self._parts.follower.fired(part)
        return json_reply(answer | {"fired": done.fired, "skipped": done.skipped})

    async def _firing(self, known: list[UUID]) -> Firing:
        """The one that a key was answered with."""
        instant = _EPOCH + timedelta(microseconds=known[1].int)
        rows = await list_firings(self._database, known[0], 1, instant + _MICROSECOND)
        if not rows or rows[0].instant != instant:
            raise NotFound("firing", instant.isoformat())
        return rows[0]

    def _say(self, names: list[str]) -> None:
        if names:
            self._parts.announcer.schedules(names)

    def _changed(self, names: list[str]) -> ASGIApp:
        if names:
            # Of many it is enough to say none.
            self._parts.announcer.schedules([])
        return json_reply({"names": names, "count": len(names)})


def _told(firing: Firing) -> list[UUID]:
    """What is remembered of it under a key: its schedule and its instant."""
    return [firing.schedule_id, UUID(int=(firing.instant - _EPOCH) // _MICROSECOND)]


async def _read_many(request: Call, readers: Any) -> dict[str, Any]:
    given = fields_of(await bodies.read_json(request), readers)
    if "filter" not in given:
        raise InvalidInput.at("/filter", 'say which: {"tags": ["nightly"]}; {} is all of them')
    return given


def _note(value: object) -> str:
    return read_text(value, SCHEDULE_NOTE_CHARS_MAX)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


_BACKFILL: Final = {"from": read_instant, "to": read_instant, "dry_run": _flag}
_BACKFILL_SCHEMA: Final[schemas.Schema] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["from", "to"],
    "properties": {
        "from": INSTANT_SCHEMA,
        "to": INSTANT_SCHEMA,
        "dry_run": schemas.nullable({"type": "boolean"}),
    },
}
_NOTE_SCHEMA: Final = schemas.nullable(text_schema(SCHEDULE_NOTE_CHARS_MAX))


def routes(parts: ApiParts) -> list[Route]:
    verbs = Verbs(parts)
    shown = {200: Answer(description="The schedule", schema=schemas.ref("Schedule"))}
    changed = {
        200: Answer(description="Those that changed", schema=schemas.ref("SchedulesChanged"))
    }
    firing = schemas.ref("Firing")
    return [
        Route(
            method="POST",
            path=f"{MANY}/pause",
            handle=verbs.pause_many,
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
            handle=verbs.resume_many,
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
            handle=verbs.resume,
            summary="Resume a schedule",
            description="What fell due while it was paused is skipped, and the ledger says so.",
            tag=TAG,
            path_schemas=ITS_REF,
            answers=shown,
            problems=(400, 404, 413, 415),
        ),
        Route(
            method="POST",
            path=f"{ONE}/trigger",
            handle=verbs.trigger,
            summary="Fire a schedule now, whatever its rule says",
            description="Its overlap holds: what that forbids is answered as a skipped firing. "
            "Its next instant stays as it is.",
            tag=TAG,
            path_schemas=ITS_REF,
            headers=KEY,
            answers={
                201: Answer(description="What was made", schema=firing),
                200: Answer(
                    description="Nothing was made; or it was answered before", schema=firing
                ),
            },
            problems=(400, 404, 409, 413, 415),
        ),
        Route(
            method="POST",
            path=f"{ONE}/backfill",
            handle=verbs.backfill,
            summary="Fire the instants of a stretch of the past that have made nothing",
            description="`from` <= instant < `to`. With `dry_run` they are only counted. Doing "
            "it again does no harm: what has made something is left alone.",
            tag=TAG,
            path_schemas=ITS_REF,
            body=_BACKFILL_SCHEMA,
            answers={200: Answer(description="How many", schema=schemas.ref("Backfill"))},
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
