"""Reading the parts of a step: its kind, its needs and join, its retry policy, and work below it.

Work below a step is one item of a fan-out, or a compensation. A node performs it; an item of a
fan-out may also be an execution of another workflow. Needs say whom a step waits for, which end,
and how many of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import STEPS_MAX
from windlass.model.job.limit import read_limits
from windlass.model.job.retry import default_for, read_retry
from windlass.model.job.submission import read_name
from windlass.model.json.pointer import step as pointer_to
from windlass.model.json.whole import read_whole
from windlass.model.workflow import fields
from windlass.model.workflow.check_input import check_kind_input
from windlass.model.workflow.collector import Collector
from windlass.model.workflow.definition import WHENS, Inner, Need
from windlass.model.workflow.step_kinds import ENGINE_KINDS

_INNER: Final = ("kind", "input", "retry", "timeout", "queue", "priority", "locks", "limits")


def read_kind(value: Any, at: str, collector: Collector, own: frozenset[str]) -> str | None:
    """`own` are the engine's kinds that may stand here."""
    if collector.kinds is None:
        return str(value)
    known = sorted({*collector.kinds.checks, *own})
    if isinstance(value, str) and value in known:
        return value
    if isinstance(value, str) and value in ENGINE_KINDS:
        collector.say(
            f"{at}/kind", f"{value} cannot stand here; it must be one of: {' '.join(known)}"
        )
    else:
        collector.say(f"{at}/kind", f"must be one of: {' '.join(known)}")
    return None


def read_inner(
    given: Any, at: str, collector: Collector, own: frozenset[str] = frozenset(), **sight: Any
) -> Inner | None:
    """Work below a step: it stands in no graph."""
    if not isinstance(given, dict):
        collector.say(at, 'must be an object such as {"kind": "http", "input": {…}}')
        return None
    kind = read_kind(given.get("kind"), at, collector, own)
    readers: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "input": ("input", fields.read_object),
        "retry": ("retry", lambda found: check_retry(found, kind or "")),
        "timeout": ("timeout_seconds", fields.read_timeout),
        "queue": ("queue", read_name),
        "priority": ("priority", fields.read_priority),
        "locks": ("locks", fields.read_locks),
        "limits": ("limits", read_limits),
    }
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in _INNER:
            collector.say(at + pointer_to(name), fields.unknown(name, _INNER))
        elif value is not None and name != "kind":
            attribute, read = readers[name]
            found[attribute] = collector.take(f"{at}/{name}", read, value)
    if kind is None or None in found.values():
        return None
    for name in ("input", "locks"):
        if given.get(name) is not None:
            collector.collect(f"{at}/{name}", given[name], **sight)
    check_kind_input(kind, found.get("input", {}), f"{at}/input", collector)
    return Inner(kind=kind, **found)


def check_retry(value: Any, kind: str) -> dict[str, Any]:
    """A policy as jobs have it, kept as it was given."""
    _, problems = read_retry(value, default_for(kind))
    if problems:
        raise InvalidInput(*(FieldProblem(pointer=p, detail=d) for p, d in problems))
    kept: dict[str, Any] = value
    return kept


def read_needs(value: Any, at: str, collector: Collector) -> tuple[Need, ...]:
    """Those that can be read."""
    if not isinstance(value, list):
        collector.say(at, "must be a list of the ids of steps")
        return ()
    needs: dict[str, Need] = {}
    for place, given in enumerate(value):
        need = collector.take(f"{at}/{place}", _read_need, given)
        if need is None:
            continue
        if need.step in needs:
            collector.say(f"{at}/{place}", f"{need.step} is needed twice; name it once")
        needs[need.step] = need
    return tuple(needs.values())


def _read_need(given: Any) -> Need:
    if isinstance(given, str):
        return Need(step=fields.read_step_id(given))
    if not isinstance(given, dict) or "step" not in given:
        raise ValueError('must be the id of a step, or {"step": "id", "when": "failed"}')
    for name in given:
        if name not in ("step", "when"):
            raise ValueError(f"{name[:40]!r}: {fields.unknown(name, ('step', 'when'))}")
    when = given.get("when", "succeeded")
    if when not in WHENS:
        raise ValueError(f"when must be one of: {' '.join(WHENS)}")
    return Need(step=fields.read_step_id(given["step"]), when=when)


def read_join(value: Any) -> int:
    """`all` is told apart before."""
    if value == "any":
        return 1
    try:
        return read_whole(value, STEPS_MAX)
    except ValueError:
        raise ValueError("must be all, any, or how many of the needs must be met") from None
