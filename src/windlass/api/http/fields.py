"""Bodies of verbs: an object with a few optional fields, or nothing at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from windlass.api.http.body import check_type, parse, read_bytes
from windlass.api.http.caller import caller_of
from windlass.api.http.route import Call
from windlass.errors import FieldProblem, InvalidInput
from windlass.model.json.pointer import step

# By name: reads a value, or raises ValueError that says what is allowed.
Readers = Mapping[str, Callable[[object], Any]]


async def read_fields(request: Call, readers: Readers) -> dict[str, Any]:
    """The fields that are there and not null. Raises InvalidInput with every mistake."""
    body = await read_bytes(request)
    if not body:
        return {}
    check_type(caller_of(request.scope))
    return fields_of(await parse(body), readers)


def fields_of(value: object, readers: Readers) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput.at("", "must be an object, or no body at all")
    problems: list[FieldProblem] = []
    given: dict[str, Any] = {}
    for name, found in value.items():
        if name not in readers:
            detail = f"unknown field; known are {' '.join(readers)}"
            problems.append(FieldProblem(pointer=step(name), detail=detail))
        elif found is not None:
            try:
                given[name] = readers[name](found)
            except InvalidInput as trouble:
                problems += [
                    FieldProblem(pointer=f"/{name}{inner.pointer}", detail=inner.detail)
                    for inner in trouble.problems
                ]
            except ValueError as trouble:
                problems.append(FieldProblem(pointer=f"/{name}", detail=str(trouble)))
    if problems:
        raise InvalidInput(*problems)
    return given
