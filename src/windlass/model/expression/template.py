"""Templates: JSON whose texts may hold expressions, `{"id": "${steps.charge.output.id}"}`.

A text that is wholly one `${ … }` gives way to its value, whatever its type; inside other text a
value is written: texts as they are, everything else as JSON. Names of fields stay as they are.

Filling is done for every step of every execution, so all that is constant is written as JSON once,
when the template is compiled:

    {"url":"https://…","json":{"id":  ·steps.charge.output.id·  ,"n":  ·item·  }}
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from windlass.limits import JSON_DEPTH_MAX, TEMPLATE_BYTES_MAX, TEMPLATE_EXPRESSIONS_MAX
from windlass.model.expression import Expression, Unanswerable
from windlass.model.expression.parse import INT_MAX
from windlass.model.expression.template_text import split_text
from windlass.model.expression.values import Run
from windlass.model.json import strict as strict_json
from windlass.model.json.pointer import step

Scope: TypeAlias = Mapping[str, Any]
# Writes its value as JSON; the run is None where every expression is a plain path.
Hole: TypeAlias = Callable[[Scope, Run | None], str]


class Template:
    """A compiled template.

    `problems` are (pointer, detail); one that has some cannot be filled. `expressions` are
    (pointer, expression) in the order in which they stand.
    """

    __slots__ = (
        "_hole_indexes",
        "_holes",
        "_is_plain",
        "_pieces",
        "expressions",
        "is_constant",
        "names",
        "problems",
        "steps",
    )

    def __init__(self, value: Any) -> None:
        reader = _Reader()
        reader.read(value, "", 1)
        self.problems: tuple[tuple[str, str], ...] = tuple(reader.problems)
        self.expressions: tuple[tuple[str, Expression], ...] = tuple(reader.expressions)
        found = [expression for _, expression in self.expressions]
        self.names = frozenset(name for one in found for name in one.names)
        self.steps = frozenset(name for one in found for name in one.steps)
        self.is_constant = not self.expressions
        self._is_plain = all(one.is_plain for one in found)
        self._pieces, self._hole_indexes, self._holes = reader.written()

    def fill(self, scope: Scope, run: Run | None = None) -> Any:
        """The value, the caller's own. Raises Unanswerable that says where and why.

        A run of the same scope may be shared with others, and with it the allowance of work.
        """
        return json.loads(self.fill_json(scope, run))

    def fill_json(self, scope: Scope, run: Run | None = None) -> str:
        """The same as compact JSON text that PostgreSQL takes."""
        if self.problems:
            pointer, detail = self.problems[0]
            raise _there(pointer, detail)
        if not self._holes:
            return self._pieces[0]
        pieces = self._pieces.copy()
        run = None if self._is_plain else run or Run(scope)
        left = TEMPLATE_BYTES_MAX
        for index, hole in zip(self._hole_indexes, self._holes, strict=True):
            made = pieces[index] = hole(scope, run)
            left -= len(made)
            if left < 0:
                raise _too_large()
        text = "".join(pieces)
        # Characters are counted before bytes: four times as many is the most they can be.
        if len(text) * 4 > TEMPLATE_BYTES_MAX and len(text.encode()) > TEMPLATE_BYTES_MAX:
            raise _too_large()
        return text


def compile_template(value: Any) -> Template:
    """The template of a JSON value. What is wrong with it is in its `problems`."""
    return Template(value)


class _Reader:
    """Writes a template as constant pieces with holes between them."""

    def __init__(self) -> None:
        self.problems: list[tuple[str, str]] = []
        self.expressions: list[tuple[str, Expression]] = []
        self._made: list[str | Hole] = []
        self._is_full = False  # of expressions: no more are compiled

    def written(self) -> tuple[list[str], tuple[int, ...], tuple[Hole, ...]]:
        """The pieces, and which of them are to be filled by what."""
        pieces: list[str] = []
        indexes: list[int] = []
        holes: list[Hole] = []
        constant = ""
        for part in self._made:
            if isinstance(part, str):
                constant += part
                continue
            pieces += [constant, ""]
            indexes.append(len(pieces) - 1)
            holes.append(part)
            constant = ""
        return [*pieces, constant], tuple(indexes), tuple(holes)

    def read(self, value: Any, pointer: str, depth: int) -> None:
        if isinstance(value, str) and "${" in value:
            self._read_text(value, pointer, depth)
        elif isinstance(value, dict | list):
            if depth > JSON_DEPTH_MAX:
                self._say(pointer, f"is nested deeper than {JSON_DEPTH_MAX} levels")
            elif isinstance(value, dict):
                self._read_object(value, pointer, depth)
            else:
                self._read_list(value, pointer, depth)
        else:
            self._read_constant(value, pointer)

    def _read_object(self, value: dict[Any, Any], pointer: str, depth: int) -> None:
        comma = "{"
        for name, inside in value.items():
            if not isinstance(name, str):
                self._say(pointer, f"has the field {str(name)[:60]}; names of fields are texts")
            elif "${" in name:
                self._say(pointer + step(name), "is a name, and expressions stand in values only")
            else:
                self._made.append(comma)
                self._read_constant(name, pointer + step(name))
                self._made.append(":")
                self.read(inside, pointer + step(name), depth + 1)
                comma = ","
        self._made.append("{}" if comma == "{" else "}")

    def _read_list(self, value: list[Any], pointer: str, depth: int) -> None:
        self._made.append("[")
        for place, inside in enumerate(value):
            if place:
                self._made.append(",")
            self.read(inside, f"{pointer}/{place}", depth + 1)
        self._made.append("]")

    def _read_constant(self, value: Any, pointer: str) -> None:
        if not isinstance(value, str | int | float | None):
            self._say(pointer, f"is {type(value).__name__}, which is not JSON")
        elif isinstance(value, float) and not math.isfinite(value):
            self._say(pointer, f"is {value}, which is no number in JSON")
        else:
            try:
                self._made.append(strict_json.write(value))
            except ValueError as trouble:
                self._say(pointer, str(trouble))

    def _read_text(self, text: str, pointer: str, depth: int) -> None:
        if self._is_full:
            return
        if len(self.expressions) + text.count("${") - text.count("$${") > TEMPLATE_EXPRESSIONS_MAX:
            self._is_full = True
            self._say("", f"has more than {TEMPLATE_EXPRESSIONS_MAX} expressions")
            return
        try:
            parts = split_text(text)
        except ValueError as trouble:
            self._say(pointer, str(trouble))
            return
        found = [part for part in parts if isinstance(part, Expression)]
        if not found:
            self._read_constant("".join(map(str, parts)), pointer)
            return
        self.expressions += [(pointer, expression) for expression in found]
        if len(parts) == 1:
            self._made.append(_value_hole(found[0], pointer, depth))
        else:
            self._made.append(_text_hole(parts, pointer))

    def _say(self, pointer: str, detail: str) -> None:
        self.problems.append((pointer, detail))


def _value_hole(expression: Expression, pointer: str, depth: int) -> Hole:
    levels = JSON_DEPTH_MAX - depth + 1
    evaluate = expression.evaluate

    def fill(scope: Scope, run: Run | None) -> str:
        try:
            return _written(evaluate(scope, run), levels)
        except Unanswerable as trouble:
            raise _there(pointer, str(trouble), type(trouble)) from None

    return fill


def _text_hole(parts: tuple[str | Expression, ...], pointer: str) -> Hole:
    def fill(scope: Scope, run: Run | None) -> str:
        made: list[str] = []
        left = TEMPLATE_BYTES_MAX
        try:
            for part in parts:
                text = part if isinstance(part, str) else _text_of(part.evaluate(scope, run))
                left -= len(text)
                if left < 0:
                    raise _too_large()
                made.append(text)
            return _written("".join(made), 1)
        except Unanswerable as trouble:
            raise _there(pointer, str(trouble), type(trouble)) from None

    return fill


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else _written(value, JSON_DEPTH_MAX)


def _written(value: Any, levels: int) -> str:
    if type(value) is int and -INT_MAX <= value <= INT_MAX:
        return repr(value)
    if type(value) is str and "\x00" not in value:
        try:
            return msgspec.json.encode(value).decode()
        except UnicodeEncodeError:
            raise Unanswerable("it gave half of a surrogate pair") from None
    if type(value) is float and not math.isfinite(value):
        raise Unanswerable(f"it gave {value}, which is no number in JSON")
    try:
        return strict_json.write(value, levels)
    except (ValueError, TypeError) as trouble:
        raise Unanswerable(f"what it gave {trouble}") from None


def _there(pointer: str, detail: str, kind: type[Unanswerable] = Unanswerable) -> Unanswerable:
    return kind(f"at {pointer}: {detail}" if pointer else detail)


def _too_large() -> Unanswerable:
    return Unanswerable(f"it is filled to more than {TEMPLATE_BYTES_MAX} bytes")
