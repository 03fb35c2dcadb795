"""When schedules are due: next, by a rule that is only tried out, and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from starlette.types import ASGIApp

from windlass import clock
from windlass.api.http import body as bodies
from windlass.api.http import shapes as schemas
from windlass.api.http.body import fields_of
from windlass.api.http.paging import FIRINGS, page_reply
from windlass.api.http.query import Param, choices_param, instant_param, limit_param
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.parts import ApiParts
from windlass.api.schedules.ref import ITS_REF, MANY, ONE, TAG, ref_of
from windlass.api.schedules.schema import FIRING_STATES, PREVIEW_RULE
from windlass.api.schedules.view import firing_view, times_view
from windlass.engine.schedules.known_rules import rule_of
from windlass.engine.schedules.ledger import list_firings
from windlass.engine.schedules.schedules import read_schedule
from windlass.errors import InvalidInput
from windlass.limits import PAGE_DEFAULT, PREVIEW_DEFAULT, PREVIEW_MAX
from windlass.model.job.submission import read_instant, read_name
from windlass.model.json.value_schema import INSTANT_SCHEMA, NAME_SCHEMA
from windlass.model.json.whole import read_whole
from windlass.model.schedule.never import why_silent
from windlass.model.schedule.read import RULE_FIELDS, read_rule
from windlass.model.schedule.rule import Rule

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class Times:
    def __init__(self, parts: ApiParts) -> None:
        self._database = parts.database

    async def next(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        schedule = await read_schedule(self._database, ref_of(request))
        rule = rule_of(schedule.rule_json, schedule.name, schedule.created_at).rule
        after = query.get("after", clock.wall())
        return await _shown(rule, after, query.get("n", PREVIEW_DEFAULT))

    async def firings(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        schedule = await read_schedule(self._database, ref_of(request))
        limit = query.get("limit", PAGE_DEFAULT)
        found = await list_firings(
            self._database, schedule.id, limit, query.get("cursor"), states=query.get("state")
        )
        cursor = None
        if len(found) == limit:
            since = found[-1].instant - _EPOCH
            cursor = FIRINGS.show(str(since // _MICROSECOND))
        return page_reply([firing_view(firing) for firing in found], cursor)

    async def preview(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        value = await bodies.read_json(request)
        if not isinstance(value, Mapping):
            raise InvalidInput.at("", 'must be an object such as {"cron": "0 8 * * 1-5"}')
        own = {field: found for field, found in value.items() if field not in RULE_FIELDS}
        given = fields_of(own, _PREVIEW)
        now = clock.wall()
        rule_given = {
            field: found
            for field, found in value.items()
            if field in RULE_FIELDS and found is not None
        }
        name = given.get("name", "")
        rule = await asyncio.to_thread(read_rule, rule_given, name=name, anchor_at=now)
        after = given.get("after", now)
        if (silent := await asyncio.to_thread(why_silent, rule, after)) is not None:
            field, why = silent
            raise InvalidInput.at(f"/{field}", why)
        return await _shown(rule, after, given.get("n", PREVIEW_DEFAULT))


async def _shown(rule: Rule, after: datetime, most: int) -> ASGIApp:
    # In a thread: holidays of thousands of years take a second or two to work out.
    return json_reply(await asyncio.to_thread(times_view, rule, after, most))


def _count_in_query(text: str) -> int:
    return _count(int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None)


def _count(value: object) -> int:
    return read_whole(value, PREVIEW_MAX)


_PREVIEW: Final = {
    "name": read_name,
    "after": read_instant,
    "n": _count,
}
_N_SCHEMA: Final[schemas.Schema] = {
    "type": "integer",
    "minimum": 1,
    "maximum": PREVIEW_MAX,
    "default": PREVIEW_DEFAULT,
}
_PREVIEW_SCHEMA: Final[schemas.Schema] = {
    **PREVIEW_RULE,
    "properties": {
        **PREVIEW_RULE["properties"],
        "name": schemas.nullable({**NAME_SCHEMA, "description": "From which H takes its values"}),
        "after": schemas.nullable(INSTANT_SCHEMA),
        "n": schemas.nullable(_N_SCHEMA),
    },
}


def routes(parts: ApiParts) -> list[Route]:
    times = Times(parts)
    shown = Answer(description="Instants, oldest first", schema=schemas.ref("ScheduleTimes"))
    return [
        Route(
            method="POST",
            path=f"{MANY}/preview",
            needs="schedules:read",
            handle=times.preview,
            summary="Try out a rule: when it is due, and what it means in words",
            description="`note` tells where clocks change, or a day off was moved. A rule that "
            "is never due is refused with the reason.",
            tag=TAG,
            body=_PREVIEW_SCHEMA,
            answers={200: shown},
            problems=(400, 413, 415),
        ),
        Route(
            method="GET",
            path=f"{ONE}/next",
            needs="schedules:read",
            handle=times.next,
            summary="Read when a schedule is due next",
            tag=TAG,
            path_schemas=ITS_REF,
            query=(
                Param(
                    name="n",
                    read=_count_in_query,
                    description="How many instants",
                    schema=_N_SCHEMA,
                ),
                instant_param("after", "Those after this instant; now unless said"),
            ),
            answers={200: shown},
            problems=(404,),
        ),
        Route(
            method="GET",
            path=f"{ONE}/firings",
            needs="schedules:read",
            handle=times.firings,
            summary="List what became of each due instant, newest first",
            description="Every due instant has a row, whatever became of it; `reason` says why "
            "nothing was made. `stands_for` counts it and instants before it that were too many "
            "for a row each.",
            tag=TAG,
            path_schemas=ITS_REF,
            query=(
                limit_param(),
                FIRINGS.param(),
                choices_param("state", FIRING_STATES, "Only these"),
            ),
            answers={
                200: Answer(description="A page of firings", schema=schemas.page_of("Firing"))
            },
            problems=(404,),
        ),
    ]
