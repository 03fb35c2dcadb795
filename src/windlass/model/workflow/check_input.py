"""The input of a step, checked by kind as it is written: constants now, the rest when it runs.

An input is a template. Whatever holds `${ }` is left to the run; the kinds' own checks look at
everything else, so that a misspelt field is found early. The arguments of a `python` step are held
against the task's signature: too many, unknown, missing, of another type.
"""

from __future__ import annotations

from typing import Any

from windlass.model.json.pointer import step as pointer_to
from windlass.model.json.schema import Found, value_problems
from windlass.model.workflow.collector import Collector, is_open, open_texts
from windlass.model.workflow.known_kinds import TaskShape
from windlass.model.workflow.step_kinds import KINDS, input_problems


def check_kind_input(kind: str, given: dict[str, Any], at: str, collector: Collector) -> None:
    """Note what is wrong with the constants of an input."""
    if collector.kinds is None:
        return
    row = KINDS[kind]
    said = collector.kinds.checks[kind](given) if row.is_performed else input_problems(kind, given)
    found = _settled(said, given)
    if (schema := collector.kinds.schemas.get(kind)) is not None:
        found += value_problems(given, schema, is_open)
    tasks = collector.kinds.tasks
    if row.has_task and (shape := tasks.get(str(given.get("task")))) is not None:
        found += _argument_problems(given, shape)
    for pointer, detail in found:
        collector.say(at + pointer, detail)


def _argument_problems(given: dict[str, Any], shape: TaskShape) -> Found:
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
    positional = dict(zip(shape.names, args, strict=False))
    found += [
        (f"/kwargs{pointer_to(name)}", "is given by its position in args as well")
        for name in kwargs
        if name in positional
    ]
    pointers = {name: f"/args/{index}" for index, name in enumerate(positional)}
    for pointer, detail in value_problems({**positional, **kwargs}, shape.schema, is_open):
        name, _, below = pointer.removeprefix("/").partition("/")
        pointer_of = pointers.get(name, f"/kwargs/{name}")
        found.append((f"{pointer_of}/{below}" if below else pointer_of, detail))
    return found


def _settled(found: Found, given: dict[str, Any]) -> Found:
    """Without what is said of values that only the run will fill."""
    if not found:
        return []
    later = {pointer for pointer, _ in open_texts(given)}
    return [(pointer, detail) for pointer, detail in found if later.isdisjoint(_above(pointer))]


def _above(pointer: str) -> list[str]:
    """The pointer itself and those of what it lies in."""
    parts = pointer.split("/")
    return ["/".join(parts[:depth]) for depth in range(2, len(parts) + 1)]
