"""Reading one step of a definition: its fields depend on its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from windlass.limits import CASES_MAX
from windlass.model.job.limit import read_limits
from windlass.model.job.submission import read_name
from windlass.model.json.pointer import step as pointer_to
from windlass.model.workflow import fields
from windlass.model.workflow.check_input import check_kind_input
from windlass.model.workflow.collector import Collector, Use
from windlass.model.workflow.definition import Case, Step
from windlass.model.workflow.read_work import (
    check_retry,
    read_inner,
    read_join,
    read_kind,
    read_needs,
)
from windlass.model.workflow.step_kinds import ENGINE_KINDS, ITEM_KINDS, KINDS

# The fields that say who waits for whom.
_SHAPING: Final = frozenset(("id", "needs", "join", "if", "cases", "default"))


# The fields of all kinds, each once.
_EVERY: Final = tuple(dict.fromkeys(name for kind in KINDS.values() for name in kind.all_fields()))


def read_step(given: Any, index: int, collector: Collector) -> Step | None:
    """The step, or None when it has no id to go by."""
    return _StepReader(given, index, collector).read()


class _StepReader:
    """The fields of one step, each read by the method of its name."""

    def __init__(self, given: Any, index: int, collector: Collector) -> None:
        self.given, self.index, self.collector = given, index, collector
        self.at = f"/steps/{index}"
        self.kind = ""
        self.found: dict[str, Any] = {}

    def read(self) -> Step | None:
        if not isinstance(self.given, dict):
            self.collector.say(
                self.at, 'a step is an object such as {"id": "greet", "kind": "noop"}'
            )
            return None
        self.kind = read_kind(self.given.get("kind"), self.at, self.collector, ENGINE_KINDS) or ""
        if self.given.get("id") is None:
            self.collector.say(f"{self.at}/id", "every step has an id, by which others name it")
        known = KINDS[self.kind].all_fields() if self.kind else _EVERY
        for name, value in self.given.items():
            if name not in known:
                self.collector.say(self.at + pointer_to(name), self._strange(name, known))
            elif value is not None and name != "kind":
                self._read_field(name, value)
        if self.kind:
            self._check_own_fields()
        if self.kind and not isinstance(self.given.get("input"), dict):
            self._check_missing_input()
        if "id" not in self.found:
            return None
        # One of an unknown kind keeps its position, so that those who need it are not blamed.
        return Step(kind=self.kind or "noop", **self.found)

    def _read_field(self, name: str, value: Any) -> None:
        before = len(self.collector.problems)
        _FIELDS[name](self, value)
        if name in _SHAPING and len(self.collector.problems) > before:
            self.collector.has_gaps = True

    def _strange(self, name: str, known: tuple[str, ...]) -> str:
        if name in _EVERY:
            return f"has no meaning for kind {self.kind}; known are {' '.join(known)}"
        return fields.unknown(name, known)

    def _check_own_fields(self) -> None:
        for name, missing in KINDS[self.kind].fields.items():
            if missing is not None and self.given.get(name) is None:
                self.collector.say(f"{self.at}/{name}", missing)

    def _check_missing_input(self) -> None:
        if self.given.get("input") is None and "input" in KINDS[self.kind].fields:
            check_kind_input(self.kind, {}, f"{self.at}/input", self.collector)

    def _take(self, name: str, attribute: str, read: Callable[[Any], Any], value: Any) -> Any:
        taken = self.collector.take(f"{self.at}/{name}", read, value)
        if taken is not None:
            self.found[attribute] = taken
        return taken

    def _expression(self, name: str, attribute: str, value: Any) -> None:
        text = self._take(name, attribute, fields.read_expression, value)
        if text is not None:
            self._use(f"{self.at}/{name}", text)

    def _use(self, pointer: str, text: str) -> None:
        self.collector.uses.append(
            Use(pointer=pointer, value=text, is_template=False, step=self.index)
        )

    def id(self, value: Any) -> None:
        self._take("id", "id", fields.read_step_id, value)

    def title(self, value: Any) -> None:
        self._take("title", "title", fields.read_title, value)

    def needs(self, value: Any) -> None:
        self.found["needs"] = read_needs(value, f"{self.at}/needs", self.collector)

    def join(self, value: Any) -> None:
        if value != "all":
            self._take("join", "join", read_join, value)

    def condition(self, value: Any) -> None:
        self._expression("if", "condition", value)

    def input(self, value: Any) -> None:
        if self._take("input", "input", fields.read_object, value) is not None:
            self.collector.collect(f"{self.at}/input", value, step=self.index)
            if self.kind:
                check_kind_input(self.kind, value, f"{self.at}/input", self.collector)

    def retry(self, value: Any) -> None:
        self._take("retry", "retry", lambda found: check_retry(found, self.kind), value)

    def timeout(self, value: Any) -> None:
        is_awaited = KINDS[self.kind].awaits is not None
        read = fields.read_patience if is_awaited else fields.read_timeout
        self._take("timeout", "timeout_seconds", read, value)

    def queue(self, value: Any) -> None:
        self._take("queue", "queue", read_name, value)

    def priority(self, value: Any) -> None:
        self._take("priority", "priority", fields.read_priority, value)

    def locks(self, value: Any) -> None:
        if self._take("locks", "locks", fields.read_locks, value) is not None:
            self.collector.collect(f"{self.at}/locks", value, step=self.index)

    def limits(self, value: Any) -> None:
        self._take("limits", "limits", read_limits, value)

    def undo(self, value: Any) -> None:
        self.found["undo"] = read_inner(
            value, f"{self.at}/undo", self.collector, step=self.index, sees_itself=True
        )

    def items(self, value: Any) -> None:
        self._expression("items", "items", value)

    def each(self, value: Any) -> None:
        self.found["each"] = read_inner(
            value,
            f"{self.at}/step",
            self.collector,
            step=self.index,
            sees_item=True,
            own=ITEM_KINDS,
        )

    def max_parallel(self, value: Any) -> None:
        self._take("max_parallel", "max_parallel", fields.read_parallel, value)

    def tolerance(self, value: Any) -> None:
        self._take("tolerance", "tolerance", fields.read_tolerance, value)

    def collect(self, value: Any) -> None:
        self._take("collect", "collect", fields.read_bool, value)

    def cases(self, value: Any) -> None:
        if not isinstance(value, list) or not 1 <= len(value) <= CASES_MAX:
            self.collector.say(f"{self.at}/cases", f"must be a list of 1 to {CASES_MAX} cases")
            return
        read = [self._case(case, f"{self.at}/cases/{n}") for n, case in enumerate(value)]
        self.found["cases"] = tuple(case for case in read if case is not None)

    def _case(self, case: Any, at: str) -> Case | None:
        if not isinstance(case, dict):
            self.collector.say(at, 'a case is an object such as {"if": "${…}", "go": ["step"]}')
            return None
        for name in case:
            if name not in ("if", "go"):
                self.collector.say(at + pointer_to(name), fields.unknown(name, ("if", "go")))
        condition = self.collector.take(f"{at}/if", fields.read_expression, case.get("if"))
        go = self.collector.take(f"{at}/go", fields.read_step_ids, case.get("go"))
        if condition is not None:
            self._use(f"{at}/if", condition)
        return None if condition is None or go is None else Case(condition=condition, go=go)

    def default(self, value: Any) -> None:
        self._take("default", "default_go", fields.read_step_ids, value)


_FIELDS: Final[dict[str, Callable[[_StepReader, Any], None]]] = {
    "id": _StepReader.id,
    "title": _StepReader.title,
    "needs": _StepReader.needs,
    "join": _StepReader.join,
    "if": _StepReader.condition,
    "input": _StepReader.input,
    "retry": _StepReader.retry,
    "timeout": _StepReader.timeout,
    "queue": _StepReader.queue,
    "priority": _StepReader.priority,
    "locks": _StepReader.locks,
    "limits": _StepReader.limits,
    "undo": _StepReader.undo,
    "items": _StepReader.items,
    "step": _StepReader.each,
    "max_parallel": _StepReader.max_parallel,
    "tolerance": _StepReader.tolerance,
    "collect": _StepReader.collect,
    "cases": _StepReader.cases,
    "default": _StepReader.default,
}
assert set(_FIELDS) | {"kind"} == set(_EVERY)
