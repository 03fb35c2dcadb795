"""What a PATCH of a node, or of the whole cluster, may say; and the body of a drain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from windlass.api.http import shapes as schemas
from windlass.api.http.body import Readers, check_type, fields_of, parse, read_bytes, read_json
from windlass.api.http.caller import caller_of
from windlass.api.http.route import Call
from windlass.duration import parse_seconds
from windlass.engine.cluster.operations import OperationRequest
from windlass.errors import InvalidInput
from windlass.limits import DRAIN_SECONDS_MAX, WORKERS_MAX
from windlass.model.json.whole import read_whole

ON_TIMEOUT: Final = ("hand_back", "finish")
_SMALL_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeRequest:
    wanted: OperationRequest
    is_dry_run: bool


async def read_resize(request: Call, drain_seconds: float) -> ResizeRequest:
    """Raises InvalidInput. `drain_seconds` unless the caller says."""
    value = await read_json(request, _SMALL_BYTES)
    given = _read(value, _RESIZE)
    if "workers" not in given:
        raise InvalidInput.at("/workers", "say how many slots the node is to have")
    wanted = OperationRequest(
        kind="resize",
        to_workers=given["workers"],
        drain_seconds=given.get("drain_timeout", drain_seconds),
        on_timeout=given.get("on_timeout", "hand_back"),
        asked_by=caller_of(request.scope).owner,
    )
    return ResizeRequest(wanted=wanted, is_dry_run=given.get("dry_run", False))


async def read_drain_seconds(request: Call, drain_seconds: float) -> float:
    """Of the body of a drain, if there is one. Raises InvalidInput."""
    body = await read_bytes(request, _SMALL_BYTES)
    if not body:
        return drain_seconds
    check_type(caller_of(request.scope))
    seconds: float = _read(await parse(body), _DRAIN).get("drain_timeout", drain_seconds)
    return seconds


def _read(value: object, readers: Readers) -> dict[str, Any]:
    """The fields that are there and not null; every mistake is named."""
    if not isinstance(value, dict):
        raise InvalidInput.at("", "must be an object")
    return fields_of(value, readers)


def _workers(value: object) -> int:
    return read_whole(value, WORKERS_MAX, least=0)


def _on_timeout(value: object) -> str:
    if not isinstance(value, str) or value not in ON_TIMEOUT:
        raise ValueError(f"must be one of: {' '.join(ON_TIMEOUT)}")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _drain_timeout(value: object) -> float:
    return parse_seconds(value, DRAIN_SECONDS_MAX)


_DRAIN: Final[Readers] = {"drain_timeout": _drain_timeout}
_RESIZE: Final[Readers] = {
    "workers": _workers,
    **_DRAIN,
    "on_timeout": _on_timeout,
    "dry_run": _flag,
}


def resize_schema() -> schemas.Schema:
    optional = {
        "drain_timeout": schemas.duration(DRAIN_SECONDS_MAX),
        "on_timeout": {"type": "string", "enum": list(ON_TIMEOUT)},
        "dry_run": {"type": "boolean"},
    }
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["workers"],
        "properties": {
            "workers": {"type": "integer", "minimum": 0, "maximum": WORKERS_MAX},
            **{name: schemas.nullable(schema) for name, schema in optional.items()},
        },
    }
