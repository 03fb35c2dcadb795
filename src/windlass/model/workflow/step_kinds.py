"""The kinds of steps: a table with a row for each, from which all that depends on a kind follows.

              performed by a node                   http python wait noop, and those of plugins
    a step is awaited: what it waits for ends it    signal approval map workflow
              decided at once, without an attempt   switch transform fail

A row says which fields such a step takes, what its input holds, who ends it and how it is drawn:
reading, checking, the JSON Schema, the plan and the flowchart look it up. Where a kind needs a verb
(how it is decided, answered, explained), the module with the verb has a table of its own, made by
`complete`, which cannot be imported while a kind is missing. So a kind is added by a row here and
by the rows that are then asked for; nothing else compares the name of a kind.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import islice
from typing import Any, Final, Literal, TypeVar, get_args

import msgspec

from windlass.limits import DEFINITION_PATTERNS_COST_MAX, NAME_CHARS_MAX
from windlass.model.job.submission import read_name, read_text
from windlass.model.json.pointer import step as pointer_to
from windlass.model.json.schema import Found
from windlass.model.json.schema_check import patterns_cost, schema_mistakes
from windlass.model.json.value_schema import NAME_SCHEMA, OPEN_SCHEMA, Schema, text_schema
from windlass.model.json.whole import read_whole
from windlass.model.workflow.collector import is_open
from windlass.model.workflow.fields import unknown

# fmt: off
KindName = Literal[
    "http", "python", "wait", "noop",
    "signal", "approval", "map", "workflow",
    "switch", "transform", "fail",
]
# fmt: on
# What ends an awaited step: the items of its fan-out, its child execution, somebody's answer.
Awaits = Literal["items", "child", "answer"]
T = TypeVar("T")

_APPROVAL_TITLE_CHARS_MAX: Final = 200
_MESSAGE_CHARS_MAX: Final = 2_000
_VERSION_MAX: Final = 2**31 - 1
_STRANGE_MAX: Final = 100

_OF_EVERY_STEP: Final = ("id", "kind", "title", "needs", "join", "if")
_IF_PERFORMED: Final = ("retry", "timeout", "queue", "priority", "locks", "limits", "undo")
_IF_AWAITED: Final = ("timeout", "queue", "priority", "undo")


# Structs, and no dataclasses: every node makes them at its start, in a fifth of the time.
class InputField(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the input of a kind that no node performs."""

    name: str
    problems: Callable[[Any], Found]  # of a value that is known; pointers begin below the field
    schema: Schema | None  # as a template; None: it is a form, which is a JSON Schema itself
    missing: str | None = None  # what is said when it is not there; None: it may be left out
    takes_null: bool = False  # null is a value like any other
    is_checked_filled: bool = True  # False: whatever the run has filled in is taken


class StepKind(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of all steps of a kind."""

    is_performed: bool = False  # by a node, as a job of this kind
    awaits: Awaits | None = None  # None: it is performed, or decided at once
    # The fields of the step that depend on its kind, each with what is said when it is not there;
    # None: it may be left out, or its own check speaks.
    fields: Mapping[str, str | None] = msgspec.field(default_factory=lambda: {"input": None})
    input: tuple[InputField, ...] | None = None  # None: the kind's strategy knows, or it has none
    template: str | None = None  # the field of its input that is all it fills in; None: all of it
    target: str | None = None  # the field of its input that says whom it calls; None: nobody
    has_task: bool = False  # its input names a task, and holds what that one takes
    can_succeed: bool = True
    may_be_item: bool = False  # it may be an item of a fan-out, as all that is performed may
    shape: tuple[str, str] = ("[", "]")  # what stands around it in a Mermaid flowchart

    def all_fields(self) -> tuple[str, ...]:
        """The fields that a step of this kind may have."""
        if self.is_performed:
            return (*_OF_EVERY_STEP, *self.fields, *_IF_PERFORMED)
        return (*_OF_EVERY_STEP, *self.fields, *(_IF_AWAITED if self.awaits else ()))

    def required_fields(self) -> list[str]:
        """Those of its own that must be there, unless it is performed: then its strategy knows."""
        has_input = self.input is not None
        return [name for name, missing in self.fields.items() if has_input or missing is not None]


def _form_problems(form: Any) -> Found:
    if patterns_cost(form) > DEFINITION_PATTERNS_COST_MAX:
        return [("", "its patterns are too much to be compiled together; count less in them")]
    return schema_mistakes(form)


def _reads(read: Callable[[Any], Any]) -> Callable[[Any], Found]:
    """Problems are what the reader raises."""

    def problems(value: Any) -> Found:
        try:
            read(value)
        except ValueError as trouble:
            return [("", str(trouble))]
        return []

    return problems


def _or_open(schema: Schema) -> Schema:
    return {"anyOf": [schema, OPEN_SCHEMA]}


def _text(name: str, chars_max: int, *, is_checked_filled: bool = True) -> InputField:
    return InputField(
        name=name,
        problems=_reads(lambda value: read_text(value, chars_max)),
        schema=_or_open(text_schema(chars_max)),
        missing=f"needs {name}: text of 1 to {chars_max} characters",
        is_checked_filled=is_checked_filled,
    )


def _object_problems(value: Any) -> Found:
    is_object = isinstance(value, dict)
    return [] if is_object else [("", "must be an object, or an expression that gives one")]


_FORM: Final = InputField(name="form", problems=_form_problems, schema=None)
_CHILD: Final = (
    InputField(
        name="workflow",
        problems=_reads(read_name),
        schema=_or_open(NAME_SCHEMA),
        missing="needs the name of the workflow to run",
    ),
    InputField(
        name="version",
        problems=_reads(lambda value: read_whole(value, _VERSION_MAX)),
        schema=_or_open({"type": "integer", "minimum": 1, "maximum": _VERSION_MAX}),
    ),
    InputField(
        name="input",
        problems=_object_problems,
        schema=_or_open({"type": "object", "additionalProperties": True}),
    ),
)
_VALUE: Final = InputField(
    name="value",
    problems=lambda _value: [],
    schema={},
    missing="needs the value that is its output",
    takes_null=True,
)

_ROWS: Final[dict[KindName, StepKind]] = {
    "http": StepKind(is_performed=True, target="url"),
    "python": StepKind(is_performed=True, has_task=True),
    "wait": StepKind(is_performed=True, shape=("([", "])")),
    "noop": StepKind(is_performed=True),
    "signal": StepKind(awaits="answer", input=(_text("name", NAME_CHARS_MAX),), shape=(">", "]")),
    "approval": StepKind(
        awaits="answer",
        input=(_text("title", _APPROVAL_TITLE_CHARS_MAX, is_checked_filled=False), _FORM),
        shape=("[/", "/]"),
    ),
    "map": StepKind(
        awaits="items",
        fields={
            "items": 'needs what to go through: "${inputs.things}"',
            "step": 'needs what to do with each item: {"kind": …, "input": {…"${item}"…}}',
            "max_parallel": None,
            "tolerance": None,
            "collect": None,
        },
        shape=("[[", "]]"),
    ),
    "workflow": StepKind(awaits="child", input=_CHILD, may_be_item=True, shape=("[[", "]]")),
    "switch": StepKind(
        fields={
            "cases": 'needs its cases: [{"if": "${…}", "go": ["step"]}]',
            "default": "needs the steps to go to when no case holds; [] for none",
        },
        shape=("{", "}"),
    ),
    "transform": StepKind(input=(_VALUE,), template="value", shape=("(", ")")),
    "fail": StepKind(
        input=(_text("message", _MESSAGE_CHARS_MAX),), can_succeed=False, shape=("{{", "}}")
    ),
}
_OF_PLUGINS: Final = StepKind(is_performed=True)


class _Kinds(dict[str, StepKind]):
    """By name. A name that is not Windlass' own is a plugin's, and a node performs it."""

    def __missing__(self, kind: str) -> StepKind:
        return _OF_PLUGINS


KINDS: Final = _Kinds(_ROWS.items())
PERFORMED_KINDS: Final = frozenset(kind for kind, row in KINDS.items() if row.is_performed)
AWAITED_KINDS: Final = frozenset(kind for kind, row in KINDS.items() if row.awaits is not None)
ASKED_KINDS: Final = frozenset(kind for kind, row in KINDS.items() if row.awaits == "answer")
# Those of the engine: no node performs them, and no job outside of an execution is one.
ENGINE_KINDS: Final = frozenset(KINDS) - PERFORMED_KINDS
# Those of them that one item of a fan-out may be.
ITEM_KINDS: Final = frozenset(kind for kind in ENGINE_KINDS if KINDS[kind].may_be_item)

assert KINDS.keys() == set(get_args(KindName)), "the table has a row for each kind"
assert not PERFORMED_KINDS & AWAITED_KINDS, "one ends a step: a node, or what it waits for"


def complete(kinds: Collection[str], verbs: Mapping[KindName, T]) -> dict[str, T]:
    """A verb for each of these kinds. Raises TypeError where the module is imported, so that a kind
    that was added, or removed, is missed nowhere.
    """
    if missing := sorted(set(kinds) - verbs.keys()):
        raise TypeError(f"what becomes of a step of kind {' '.join(missing)} is not said here")
    if strange := sorted(verbs.keys() - set(kinds)):
        raise TypeError(
            f"{' '.join(strange)} does not belong in a table of {' '.join(sorted(kinds))}"
        )
    return dict(verbs.items())


def input_problems(kind: str, given: Mapping[str, Any], *, is_filled: bool = False) -> Found:
    """What is wrong with the input of a step that no node performs: as it was written, where
    expressions are left to the run, or as the run has filled it.
    """
    known = KINDS[kind].input
    if known is None:
        return []
    names = tuple(one.name for one in known)
    strange = islice((name for name in given if name not in names), _STRANGE_MAX)
    found = [(pointer_to(name), unknown(name, names)) for name in strange]
    for one in known:
        if one.is_checked_filled or not is_filled:
            found += [
                (f"/{one.name}{below}", said)
                for below, said in _field_problems(one, given, is_filled=is_filled)
            ]
    return found


def _field_problems(known: InputField, given: Mapping[str, Any], *, is_filled: bool) -> Found:
    value = given.get(known.name)
    if value is None and not (known.takes_null and known.name in given):
        return [] if known.missing is None else [("", known.missing)]
    return [] if is_open(value) and not is_filled else known.problems(value)


def form_of(kind: str, given: Mapping[str, Any]) -> Any:
    """The form in an input of this kind; None: it has none."""
    return given.get(_FORM.name) if _FORM in (KINDS[kind].input or ()) else None


def form_problems(form: Any) -> Found:
    """What is wrong with a form, as of an input. Compiling its patterns may take a second."""
    return [(f"/{_FORM.name}{below}", said) for below, said in _FORM.problems(form)]
