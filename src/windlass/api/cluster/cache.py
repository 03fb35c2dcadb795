"""/v1/system/cache: hit rates of this node's caches, and invalidation on all nodes.

An invalidation waits until every node has acknowledged it; who has not is named.
"""

from __future__ import annotations

from typing import Any, Final

from starlette.types import ASGIApp

from windlass.api.http.body import Readers, read_json, take_fields
from windlass.api.http.query import id_schema
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import COUNT, TEXT, Named, Schema, listed, nullable, record, ref
from windlass.api.parts import ApiParts
from windlass.engine.audit.record import Entry, record_alone
from windlass.engine.cache.cache import cache_stats
from windlass.errors import FieldProblem, InvalidInput, NotFound
from windlass.limits import (
    CACHE_KEYS_BYTES_MAX,
    CACHE_KEYS_MAX,
    NAME_CHARS_MAX,
    SIGNAL_WAIT_SECONDS,
)
from windlass.model.cluster.node_signal import Signalled
from windlass.model.job.submission import read_name, read_text
from windlass.model.json.value_schema import NAME_SCHEMA, text_schema


def routes(parts: ApiParts) -> list[Route]:
    async def index(_request: Call, _query: dict[str, Any]) -> ASGIApp:
        return json_reply([cache_stats(cache) for cache in parts.caches])

    async def invalidate(request: Call, _query: dict[str, Any]) -> ASGIApp:
        cache, keys = read_invalidation(await read_json(request))
        if cache not in parts.caches:
            raise NotFound("cache", cache)
        names = [cache] if keys is None else [f"{cache}:{key}" for key in keys]
        said = {"keys": keys} if keys is not None else {"all": True}
        entry = Entry(action="cache.invalidate", name=cache, after=said)
        await record_alone(parts.database, entry)
        signalled = await parts.signaller.signal(
            None, "invalidate", {"cache": names}, SIGNAL_WAIT_SECONDS
        )
        return json_reply(invalidated_view(signalled))

    return [
        Route(
            method="GET",
            path="/v1/system/cache",
            needs="cluster:read",
            handle=index,
            summary="What this node's caches have answered since it started",
            description="`hits` were found in memory, `redis_hits` in Redis, `loads` were read "
            "from PostgreSQL. `hit_rate` is null while nothing was asked.",
            tag="System",
            answers={200: Answer(description="Every cache", schema=listed(ref("Cache")))},
        ),
        Route(
            method="POST",
            path="/v1/system/cache/invalidate",
            needs="cluster:control",
            handle=invalidate,
            summary="Make all nodes drop what they keep of these keys, and wait until they have",
            description="`dropped` counts what lay in the memory of the nodes that acknowledged. A "
            "node that is `missing` may believe what it keeps for half a minute more.",
            tag="System",
            body=invalidation_schema(),
            answers={200: Answer(description="Who did", schema=ref("Invalidated"))},
            problems=(400, 404, 413, 415),
        ),
    ]


def invalidated_view(signalled: Signalled) -> dict[str, Any]:
    """A node that answered with an error has not done it."""
    answers = signalled.answers
    done = {node: answer["cache"] for node, answer in answers.items() if "cache" in answer}
    return {
        "acknowledged": sorted(done),
        "missing": sorted({*signalled.missing, *(answers.keys() - done.keys())}),
        "dropped": sum(done.values()),
    }


def read_invalidation(value: object) -> tuple[str, list[str] | None]:
    """The cache, and which keys of it; None: all. Raises InvalidInput."""
    if not isinstance(value, dict):
        raise InvalidInput.at("", 'must be an object such as {"cache": "workflow", "all": true}')
    problems: list[FieldProblem] = []
    given = take_fields(value, _READERS, problems, reads_null=True)
    if "cache" not in value:
        problems.append(FieldProblem(pointer="/cache", detail="is needed"))
    if ("keys" in value) == ("all" in value):
        problems.append(FieldProblem(pointer="", detail='needs either "keys" or "all": true'))
    if problems:
        raise InvalidInput(*problems)
    return given["cache"], given.get("keys")


def _keys(value: object) -> list[str]:
    if not isinstance(value, list) or not 1 <= len(value) <= CACHE_KEYS_MAX:
        raise ValueError(f"must be a list of 1 to {CACHE_KEYS_MAX} keys")
    keys = [read_text(key, NAME_CHARS_MAX) for key in value]
    if sum(len(key.encode()) for key in keys) > CACHE_KEYS_BYTES_MAX:
        raise ValueError(f"must be at most {CACHE_KEYS_BYTES_MAX} bytes together; name fewer")
    return keys


def _all(value: object) -> bool:
    if value is not True:
        raise ValueError("must be true; name the keys otherwise")
    return True


_READERS: Final[Readers] = {
    "cache": read_name,
    "keys": _keys,
    "all": _all,
}


def invalidation_schema() -> Schema:
    keys = {
        "type": "array",
        "items": text_schema(NAME_CHARS_MAX),
        "minItems": 1,
        "maxItems": CACHE_KEYS_MAX,
    }

    def invalidation(name: str, schema: Schema) -> Schema:
        return {
            "type": "object",
            "additionalProperties": False,
            "required": ["cache", name],
            "properties": {"cache": NAME_SCHEMA, name: schema},
        }

    return {"oneOf": [invalidation("keys", keys), invalidation("all", {"const": True})]}


SCHEMAS: Final[Named] = {
    "Cache": record(
        cache=TEXT,
        entries=COUNT,
        hits=COUNT,
        redis_hits=COUNT,
        loads=COUNT,
        errors=COUNT,
        hit_rate=nullable({"type": "number", "minimum": 0, "maximum": 1}),
    ),
    "Invalidated": record(
        acknowledged=listed(id_schema("node")),
        missing=listed(id_schema("node")),
        dropped=COUNT,
    ),
}
