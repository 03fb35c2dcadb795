"""Read a request's body: size and type are bounded before it is parsed; JSON with known fields.

`read_json` is for a body that must be there, `read_fields` for an object of a few optional fields
or nothing at all, `read_nothing` for verbs that take no words. A large body is taken from the
node's budget as it arrives (body_budget), and parsed in a thread beside the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from windlass.api.http.caller import Caller, caller_of
from windlass.api.http.problem import NotAcceptable
from windlass.api.http.route import Call
from windlass.errors import BodyTooLarge, FieldProblem, InvalidInput, MalformedBody, Unavailable
from windlass.limits import BODY_BYTES_MAX, PARSE_HERE_BYTES_MAX
from windlass.model.json import strict as strict_json
from windlass.model.json.pointer import step

# One thread: two would only wait for each other's lock, and for the memory that both take.
_THREAD: Final = ThreadPoolExecutor(1, "parse")
# Commas and opening brackets: about as many values, each of which takes a tenth of a microsecond.
_VALUES_HERE_MAX: Final = 200_000
# By name: reads a value, or raises ValueError that says what is allowed.
Readers = Mapping[str, Callable[[object], Any]]
_R = TypeVar("_R")


async def read_json(request: Call, bytes_max: int = BODY_BYTES_MAX) -> Any:
    """The value in the body. Raises what the caller did wrong."""
    check_type(caller_of(request.scope))
    body = await read_bytes(request, bytes_max)
    if not body:
        raise MalformedBody.at("", "the body is empty; send a JSON object")
    return await parse(body)


async def read_fields(request: Call, readers: Readers) -> dict[str, Any]:
    """The fields that are there and not null. Raises InvalidInput with every mistake."""
    body = await read_bytes(request)
    if not body:
        return {}
    check_type(caller_of(request.scope))
    return fields_of(await parse(body), readers)


async def read_nothing(request: Call) -> None:
    """For verbs that need no words: no body, or an empty object."""
    body = await read_bytes(request)
    if not body:
        return
    check_type(caller_of(request.scope))
    value = await parse(body)
    if not isinstance(value, dict):
        raise InvalidInput.at("", "must be an object, or no body at all")
    if value:
        name = next(iter(value))
        raise InvalidInput.at(step(name), "unknown field; this takes no fields")


async def read_bytes(request: Call, bytes_max: int = BODY_BYTES_MAX) -> bytes:
    """The body. Raises BodyTooLarge before it has read more than `bytes_max`, and BodiesFull when
    too much of others is in hand.
    """
    _check_declared(caller_of(request.scope), bytes_max)
    message = await request.receive()
    if not message.get("more_body") and message["type"] == "http.request":
        body: bytes = message["body"]
        if len(body) <= PARSE_HERE_BYTES_MAX:
            if len(body) > bytes_max:
                raise BodyTooLarge(bytes_max)
            return body
    return b"".join([piece async for piece in _pieces(request, bytes_max, message)])


async def read_pieces(request: Call, bytes_max: int = BODY_BYTES_MAX) -> AsyncIterator[bytes]:
    """The same as it arrives."""
    _check_declared(caller_of(request.scope), bytes_max)
    async for piece in _pieces(request, bytes_max, await request.receive()):
        yield piece


def check_type(caller: Caller) -> None:
    """A body is JSON. Raises NotAcceptable for a type that says otherwise."""
    given = caller.headers.get(b"content-type")
    if given is None or given == b"application/json":
        return
    media, _, rest = given.decode("latin-1").partition(";")
    charset = rest.strip().lower().removeprefix("charset=").strip('"')
    is_json = media.strip().lower() == "application/json"
    if not is_json or charset not in ("", "utf-8", "utf8"):
        raise NotAcceptable("send the body as Content-Type: application/json in UTF-8")


async def parse(body: bytes) -> Any:
    if len(body) > PARSE_HERE_BYTES_MAX:
        # A parser in C has the interpreter's lock until it is done.
        work = strict_json.parse_in_bites if is_heavy(body) else strict_json.parse
        return await in_parse_thread(partial(work, body))
    return strict_json.parse(body)


def fields_of(value: object, readers: Readers) -> dict[str, Any]:
    """The same of a value that was parsed already."""
    if not isinstance(value, Mapping):
        raise InvalidInput.at("", "must be an object, or no body at all")
    problems: list[FieldProblem] = []
    given = take_fields(value, readers, problems)
    if problems:
        raise InvalidInput(*problems)
    return given


def take_fields(
    value: Mapping[str, Any],
    readers: Readers,
    problems: list[FieldProblem],
    *,
    reads_null: bool = False,
) -> dict[str, Any]:
    """The fields of an object; what is wrong goes to `problems`. A null is as if it were not there,
    unless `reads_null`: then its reader is asked.
    """
    given: dict[str, Any] = {}
    for name, found in value.items():
        if name not in readers:
            detail = f"unknown field; known are {' '.join(readers)}"
            problems.append(FieldProblem(pointer=step(name), detail=detail))
        elif found is not None or reads_null:
            try:
                given[name] = readers[name](found)
            except InvalidInput as trouble:
                problems += [
                    FieldProblem(pointer=f"/{name}{inner.pointer}", detail=inner.detail)
                    for inner in trouble.problems
                ]
            except ValueError as trouble:
                problems.append(FieldProblem(pointer=f"/{name}", detail=str(trouble)))
    return given


async def in_parse_thread(work: Callable[[], _R]) -> _R:
    """Work on a body that is too large for the loop and no more than a thread can take."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work)


def is_heavy(body: bytes) -> bool:
    """Would parsing it hold up everybody else, even in a thread?"""
    if len(body) <= PARSE_HERE_BYTES_MAX:
        return False
    return body.count(b",") + body.count(b"[") + body.count(b"{") > _VALUES_HERE_MAX


def _check_declared(caller: Caller, bytes_max: int) -> None:
    declared = caller.headers.get(b"content-length", b"0").strip()
    if not declared.isdigit() or int(declared[:20]) > bytes_max:
        raise BodyTooLarge(bytes_max)


async def _pieces(request: Call, bytes_max: int, message: Any) -> AsyncIterator[bytes]:
    caller, size = caller_of(request.scope), 0
    while True:
        if message["type"] != "http.request":
            raise Unavailable("the caller went away before its request was complete")
        size += len(message["body"])
        if size > bytes_max:
            raise BodyTooLarge(bytes_max)
        if size > PARSE_HERE_BYTES_MAX:
            await caller.take_room(size)
        yield message["body"]
        if not message.get("more_body"):
            return
        message = await request.receive()
