"""Fire a schedule on demand: trigger it once now, or backfill a stretch of the past."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from starlette.types import ASGIApp

from windlass.api.http import body as bodies
from windlass.api.http import shapes as schemas
from windlass.api.http.body import read_fields
from windlass.api.http.reply import LOCATION, created_reply, json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.parts import ApiParts
from windlass.api.schedules.ref import ITS_REF, ONE, TAG, fire_options, ref_of
from windlass.api.schedules.view import firing_view
from windlass.engine.schedules.backfill import BackfillTooLarge, backfill, count_backfill
from windlass.engine.schedules.ledger import list_firings
from windlass.engine.schedules.schedule import Firing
from windlass.engine.schedules.schedules import read_schedule
from windlass.engine.schedules.trigger import trigger
from windlass.errors import FieldProblem, InvalidInput, NotFound
from windlass.model.job.submission import read_instant
from windlass.model.json.value_schema import INSTANT_SCHEMA
from windlass.model.schedule.decision import MADE

_MICROSECOND: Final = timedelta(microseconds=1)


class FireOnDemand:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database
        self._options = fire_options(parts)

    async def trigger(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        schedule = await read_schedule(self._database, ref_of(request))
        await bodies.read_nothing(request)
        firing, fired = await trigger(self._database, schedule.id, options=self._options)
        self._parts.follower.follow(fired.effects)
        # As the ledger has it, which knows better when it was.
        kept = await self._kept(firing)
        view = firing_view(kept)
        return created_reply(view, _where(view)) if kept.state in MADE else json_reply(view)

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
        done = await backfill(self._database, ref, *stretch, options=self._options)
        self._parts.follower.follow(done.effects)
        return json_reply(answer | {"fired": done.fired, "skipped": done.skipped})

    async def _kept(self, firing: Firing) -> Firing:
        just_after = firing.instant + _MICROSECOND
        rows = await list_firings(self._database, firing.schedule_id, 1, just_after)
        if not rows or rows[0].instant != firing.instant:
            raise NotFound("firing", firing.instant.isoformat())
        return rows[0]


def _where(firing: dict[str, Any]) -> str:
    """What it has made."""
    if firing["execution_id"] is not None:
        return f"/v1/executions/{firing['execution_id']}"
    return f"/v1/jobs/{firing['job_id']}"


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


def routes(parts: ApiParts) -> list[Route]:
    on_demand = FireOnDemand(parts)
    firing = schemas.ref("Firing")
    return [
        Route(
            method="POST",
            path=f"{ONE}/trigger",
            needs="schedules:control",
            handle=on_demand.trigger,
            summary="Fire a schedule now, whatever its rule says",
            description="Its overlap holds: what that forbids is answered as a skipped firing. "
            "Its next instant stays as it is.",
            tag=TAG,
            path_schemas=ITS_REF,
            matters_twice=True,
            answers={
                201: Answer(description="What was made", schema=firing, headers=LOCATION),
                200: Answer(
                    description="Nothing was made; or it was answered before", schema=firing
                ),
            },
            problems=(400, 404, 409, 413, 415),
        ),
        Route(
            method="POST",
            path=f"{ONE}/backfill",
            needs="schedules:control",
            handle=on_demand.backfill,
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
