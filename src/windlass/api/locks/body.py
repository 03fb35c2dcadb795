"""What a caller of a lock may say: for how long, how long it would wait, and its capacity."""

from __future__ import annotations

from typing import Any, Final

from windlass.api.http import shapes as schemas
from windlass.api.http.body import Readers, check_type, fields_of, parse, read_bytes
from windlass.api.http.caller import caller_of
from windlass.api.http.route import Call
from windlass.api.locks.view import CAPACITY
from windlass.duration import parse_seconds
from windlass.errors import InvalidInput
from windlass.limits import LOCK_TTL_SECONDS_MAX, LOCK_TTL_SECONDS_MIN, WAIT_SECONDS_MAX
from windlass.model.job.lock import read_capacity
from windlass.model.json.whole import whole

_SMALL_BYTES: Final = 64 * 1024
_TOKEN_MAX: Final = 2**63 - 1


async def read_acquire(request: Call) -> dict[str, Any]:
    """`ttl`, `wait`, `capacity`; no body at all will do. Raises InvalidInput."""
    return await _read(request, _ACQUIRE)


async def read_renew(request: Call) -> dict[str, Any]:
    """`token` and perhaps `ttl`. Raises InvalidInput."""
    given = await _read(request, _RENEW)
    if "token" not in given:
        raise InvalidInput.at("/token", "say which hold: the token that was answered with it")
    return given


async def read_resize(request: Call) -> int:
    """How many may hold it at once. Raises InvalidInput."""
    capacity: int | None = (await _read(request, _RESIZE)).get("capacity")
    if capacity is None:
        raise InvalidInput.at("/capacity", "say how many may hold it at once")
    return capacity


def read_token(value: object) -> int:
    """Raises ValueError."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    token = whole(value)
    if token is not None and 0 <= token <= _TOKEN_MAX:
        return token
    raise ValueError("must be the token of a hold, a whole number")


async def _read(request: Call, readers: Readers) -> dict[str, Any]:
    """The fields that are there and not null; every mistake is named."""
    body = await read_bytes(request, _SMALL_BYTES)
    if not body:
        return {}
    check_type(caller_of(request.scope))
    value = await parse(body)
    if not isinstance(value, dict):
        raise InvalidInput.at("", "must be an object")
    return fields_of(value, readers)


def _ttl(value: object) -> float:
    seconds = parse_seconds(value, LOCK_TTL_SECONDS_MAX)
    if seconds < LOCK_TTL_SECONDS_MIN:
        raise ValueError(f"must be at least {LOCK_TTL_SECONDS_MIN:g} seconds")
    return seconds


def _wait(value: object) -> float:
    return parse_seconds(value, WAIT_SECONDS_MAX)


def _number(value: object) -> int:
    if isinstance(value, str):
        raise ValueError("must be the token of a hold, a whole number")
    return read_token(value)


_ACQUIRE: Final[Readers] = {"ttl": _ttl, "wait": _wait, "capacity": read_capacity}
_RENEW: Final[Readers] = {"token": _number, "ttl": _ttl}
_RESIZE: Final[Readers] = {"capacity": read_capacity}

TOKEN_SCHEMA: Final[schemas.Schema] = {"type": "integer", "minimum": 0, "maximum": _TOKEN_MAX}
_TTL_SCHEMA: Final = schemas.duration(LOCK_TTL_SECONDS_MAX, LOCK_TTL_SECONDS_MIN)
ACQUIRE_SCHEMA: Final[schemas.Schema] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "ttl": schemas.nullable(_TTL_SCHEMA),
        "wait": schemas.nullable(schemas.duration(WAIT_SECONDS_MAX)),
        "capacity": schemas.nullable(CAPACITY),
    },
}
RENEW_SCHEMA: Final[schemas.Schema] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["token"],
    "properties": {"token": TOKEN_SCHEMA, "ttl": schemas.nullable(_TTL_SCHEMA)},
}
RESIZE_SCHEMA: Final[schemas.Schema] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["capacity"],
    "properties": {"capacity": CAPACITY},
}
