"""/v1/targets: hosts that webhooks call: rate limit, circuit breaker; enable, disable, reset."""

from __future__ import annotations

from typing import Any, Final

from starlette.types import ASGIApp

from windlass.api.http.body import read_json, read_nothing
from windlass.api.http.conditional import etag, precondition_of
from windlass.api.http.host import HOST_SCHEMA, read_host
from windlass.api.http.noun import Noun
from windlass.api.http.paging import TARGETS, page_reply
from windlass.api.http.query import name_param, short_text_schema
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import (
    BREAKER,
    COUNT,
    INSTANT,
    TEXT,
    Named,
    listed,
    nullable,
    record,
    ref,
)
from windlass.api.parts import ApiParts
from windlass.api.target_limits import (
    REASON_CHARS_MAX,
    read_reason,
    read_target_limits,
    target_limits_schema,
)
from windlass.engine.secrets.secrets import target_secrets
from windlass.engine.targets.targets import (
    Target,
    disable_target,
    enable_target,
    list_targets,
    put_target,
    read_target_row,
    reset_target,
)
from windlass.errors import InvalidInput
from windlass.limits import PAGE_DEFAULT
from windlass.strategies.http.auth.auth import DEFAULT_SECRET


class Targets:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database

    async def index(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.get("limit", PAGE_DEFAULT)
        targets = await list_targets(self._database, limit, query.get("cursor", ""))
        cursor = TARGETS.show(targets[-1].host) if len(targets) == limit else None
        return page_reply([target_view(target) for target in targets], cursor)

    async def get(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        return _shown(await read_target_row(self._database, _host_of(request)))

    async def secret(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        host, name = _host_of(request), query.get("name", DEFAULT_SECRET)
        found = await target_secrets(self._database, self._parts.sealer, name, host)
        return json_reply({"host": host, "secrets": found, "name": name})

    async def put(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        host, wanted = _host_of(request), precondition_of(request)
        limits = read_target_limits(await read_json(request))
        return self._changed(await put_target(self._database, host, limits, wanted))

    async def enable(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        host = _host_of(request)
        await read_nothing(request)
        return self._changed(await enable_target(self._database, host))

    async def disable(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        host = _host_of(request)
        reason = await read_reason(request)
        return self._changed(await disable_target(self._database, host, reason))

    async def reset(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        host = _host_of(request)
        await read_nothing(request)
        return self._changed(await reset_target(self._database, host))

    def _changed(self, target: Target) -> ASGIApp:
        # Nodes reload the row, and whoever is parked may go.
        self._parts.announcer.targets([target.host])
        return _shown(target)


def _host_of(request: Call) -> str:
    try:
        return read_host(request.path_params["host"])
    except ValueError as trouble:
        raise InvalidInput.at("{host}", str(trouble)) from None


def _shown(target: Target) -> ASGIApp:
    return json_reply(target_view(target), 200, etag(target.limits.etag))


def target_view(target: Target) -> dict[str, Any]:
    return {
        "host": target.host,
        "state": "enabled" if target.is_enabled else "disabled",
        "disabled_at": target.disabled_at,
        "disabled_reason": target.disabled_reason,
        "rate": target.limits.rate,
        "max_running": target.limits.max_running,
        "breaker": {
            "state": target.breaker.state,
            "opened_at": target.breaker.opened_at,
            "open_until": target.breaker.open_until,
            "opens": target.breaker.opens,
            "reason": target.breaker.reason,
            "failures": target.limits.failures,
            "rest": target.limits.rest_seconds,
            "rest_max": target.limits.rest_max_seconds,
        },
        "parked": target.parked,
        "parked_more": target.has_more_parked,
        "running": target.running,
        "succeeded": target.succeeded,
        "failed": target.failed,
        "last_answer_at": target.last_answer_at,
        "last_failure_at": target.last_failure_at,
        "created_at": target.created_at,
    }


def routes(parts: ApiParts) -> list[Route]:
    targets = Targets(parts)
    noun = Noun(word="target", key="host", key_schema=HOST_SCHEMA)
    reason = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"reason": nullable(short_text_schema(REASON_CHARS_MAX))},
    }
    secret = Route(
        method="GET",
        path=f"{noun.one}/secret",
        needs="targets:edit",
        handle=targets.secret,
        summary="Read the secret with which a target verifies what is delivered to it",
        description="The host is taken as it is written: `shop.example` is its port 443. "
        "There are two secrets, newest first, while the key they come from is rotated. Whoever "
        "knows one can sign for this target, and for no other.",
        tag=noun.tag,
        path_schemas=noun.its_key,
        query=(name_param("name", f"Which derived secret; `{DEFAULT_SECRET}` unless said"),),
        answers={
            200: Answer(description="Its secrets", schema=ref("TargetSecret")),
        },
        problems=(404, 409),
    )
    made = "Set the limits and breaker of a target, which is made if need be"
    stopped = "Deliver nothing more to a target; its jobs wait"
    return [
        noun.index(targets.index, "List targets by host", TARGETS),
        noun.get(targets.get, "Read a target"),
        secret,
        noun.put(targets.put, made, target_limits_schema()),
        noun.verb("reset", targets.reset, "Close the breaker of a target"),
        noun.verb("enable", targets.enable, "Deliver to a target again"),
        noun.verb("disable", targets.disable, stopped, reason),
    ]


SCHEMAS: Final[Named] = {
    "Target": record(
        host=TEXT,
        state={"type": "string", "enum": ["enabled", "disabled"]},
        disabled_at=nullable(INSTANT),
        disabled_reason=nullable(TEXT),
        rate=nullable({"type": "number"}),
        max_running=nullable(COUNT),
        breaker=record(
            state=BREAKER,
            opened_at=nullable(INSTANT),
            open_until=nullable(INSTANT),
            opens=COUNT,
            reason=nullable(TEXT),
            failures=COUNT,
            rest={"type": "number"},
            rest_max={"type": "number"},
        ),
        parked=COUNT,
        parked_more={"type": "boolean"},
        running=nullable(COUNT),
        succeeded=COUNT,
        failed=COUNT,
        last_answer_at=nullable(INSTANT),
        last_failure_at=nullable(INSTANT),
        created_at=INSTANT,
    ),
    "TargetSecret": record(host=TEXT, secrets=listed(TEXT), name=TEXT),
}
