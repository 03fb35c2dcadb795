"""The arguments of a task beside its signature: too many, unknown, missing, of another type."""

from __future__ import annotations

from typing import Any

from windlass.model.json.pointer import step as pointer_to
from windlass.model.json.schema import value_problems
from windlass.model.workflow.collector import is_open
from windlass.model.workflow.known_kinds import TaskShape


def argument_problems(given: dict[str, Any], shape: TaskShape) -> list[tuple[str, str]]:
    """What is wrong with `args` and `kwargs`, as (pointer below the input, detail)."""
    args, kwargs = given.get("args", []), given.get("kwargs", {})
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        return []  # an expression gives them, or the kind's own check has said so
    found = []
    if len(args) > len(shape.names) and not shape.has_rest:
        takes = (
            f"takes {len(shape.names)}: {' '.join(shape.names)}" if shape.names else "takes none"
        )
        found.append(("/args", f"holds {len(args)} values and the task {takes}"))
    by_place = dict(zip(shape.names, args, strict=False))
    found += [
        (f"/kwargs{pointer_to(name)}", "is given by its place in args as well")
        for name in kwargs
        if name in by_place
    ]
    places = {name: f"/args/{place}" for place, name in enumerate(by_place)}
    for pointer, detail in value_problems({**by_place, **kwargs}, shape.schema, is_open):
        name, _, below = pointer.removeprefix("/").partition("/")
        place = places.get(name, f"/kwargs/{name}")
        found.append((f"{place}/{below}" if below else place, detail))
    return found
