"""The input of a step, checked by kind as it is written: constants now, the rest when it runs.

An input is a template. Whatever holds `${ }` is left to the run; the kinds' own checks look at
everything else, so that a misspelt field is found early. The arguments of a `python` step are held
against the task's signature: too many, unknown, missing, of another type.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from windlass.limits import DEFINITION_PATTERNS_COST_MAX, NAME_CHARS_MAX
from windlass.model.job.submission import read_name, read_text
from windlass.model.json.pointer import step as pointer_to
from windlass.model.json.schema import Found, value_problems
from windlass.model.json.schema_check import patterns_cost, schema_mistakes
from windlass.model.json.whole import read_whole
from windlass.model.workflow.collector import Collector, is_open, open_texts
from windlass.model.workflow.fields import unknown
from windlass.model.workflow.known_kinds import TaskShape

MESSAGE_CHARS_MAX: Final = 2_000
APPROVAL_TITLE_CHARS_MAX: Final = 200
_STRANGE_MAX: Final = 100
VERSION_MAX: Final = 2**31 - 1


def check_kind_input(kind: str, given: dict[str, Any], at: str, collector: Collector) -> None:
    """Note what is wrong with the constants of an input."""
    if collector.kinds is None:
        return
    check = _OWN.get(kind) or collector.kinds.checks[kind]
    found = _settled(check(given), given)
    if (schema := collector.kinds.schemas.get(kind)) is not None:
        found += value_problems(given, schema, is_open)
    tasks = collector.kinds.tasks
    if kind == "python" and (shape := tasks.get(str(given.get("task")))) is not None:
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


def filled_problems(kind: str, given: dict[str, Any]) -> Found:
    """What is wrong with the input of a step that waits, now that the run has filled it."""
    match kind:
        case "workflow":
            return _workflow(given, is_filled=True)
        case "signal":
            return _text(given, "name", NAME_CHARS_MAX, is_filled=True)
        case "approval" if given.get("form") is not None:
            return form_problems(given["form"])
        case _:
            return []


def form_problems(form: Any) -> Found:
    """What is wrong with the form of an approval. Compiling its patterns may take a second."""
    if patterns_cost(form) > DEFINITION_PATTERNS_COST_MAX:
        return [("/form", "its patterns are too much to be compiled together; count less in them")]
    return [(f"/form{place}", said) for place, said in schema_mistakes(form)]


def _settled(found: Found, given: dict[str, Any]) -> Found:
    """Without what is said of places that only the run will fill."""
    if not found:
        return []
    later = {place for place, _ in open_texts(given)}
    return [(pointer, detail) for pointer, detail in found if later.isdisjoint(_above(pointer))]


def _above(pointer: str) -> list[str]:
    """The place itself and those that it lies in."""
    parts = pointer.split("/")
    return ["/".join(parts[:depth]) for depth in range(2, len(parts) + 1)]


def _signal(given: dict[str, Any]) -> Found:
    return _strange(given, ("name",)) + _text(given, "name", NAME_CHARS_MAX)


def _approval(given: dict[str, Any]) -> Found:
    found = _strange(given, ("title", "form")) + _text(given, "title", APPROVAL_TITLE_CHARS_MAX)
    if given.get("form") is not None:
        found += form_problems(given["form"])
    return found


def _workflow(given: dict[str, Any], *, is_filled: bool = False) -> Found:
    found = _strange(given, ("workflow", "version", "input"))
    if given.get("workflow") is None:
        found.append(("/workflow", "needs the name of the workflow to run"))
    else:
        found += _read("workflow", read_name, given["workflow"], is_filled=is_filled)
    if given.get("version") is not None:
        found += _read(
            "version",
            lambda value: read_whole(value, VERSION_MAX),
            given["version"],
            is_filled=is_filled,
        )
    passed = given.get("input")
    if passed is not None and not isinstance(passed, dict):
        found.append(("/input", "must be an object, or an expression that gives one"))
    return found


def _transform(given: dict[str, Any]) -> Found:
    missing = [] if "value" in given else [("/value", "needs the value that is its output")]
    return _strange(given, ("value",)) + missing


def _fail(given: dict[str, Any]) -> Found:
    return _strange(given, ("message",)) + _text(given, "message", MESSAGE_CHARS_MAX)


def _nothing(given: dict[str, Any]) -> Found:
    return []


_OWN: Final[dict[str, Callable[[dict[str, Any]], Found]]] = {
    "signal": _signal,
    "approval": _approval,
    "workflow": _workflow,
    "transform": _transform,
    "fail": _fail,
    # Their fields stand beside the input, and are read with the step.
    "map": _nothing,
    "switch": _nothing,
}


def _strange(given: dict[str, Any], known: tuple[str, ...]) -> Found:
    strange = islice((name for name in given if name not in known), _STRANGE_MAX)
    return [(pointer_to(name), unknown(name, known)) for name in strange]


def _text(given: dict[str, Any], name: str, chars_max: int, *, is_filled: bool = False) -> Found:
    if given.get(name) is None:
        return [(f"/{name}", f"needs {name}: text of 1 to {chars_max} characters")]
    return _read(name, lambda value: read_text(value, chars_max), given[name], is_filled=is_filled)


def _read(name: str, read: Callable[[Any], Any], value: Any, *, is_filled: bool = False) -> Found:
    if is_open(value) and not is_filled:
        return []
    try:
        read(value)
    except ValueError as trouble:
        return [(f"/{name}", str(trouble))]
    return []
