"""What a task takes and gives, compiled once from its signature.

Owns: the shape of a `python` job's input, `{"task": …, "args": […], "kwargs": {…}}`.
Promises: what passes here is taken by the node, and what is refused names its parameter.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter
from types import UnionType
from typing import Any, Final

import msgspec

from windlass.errors import InvalidArguments
from windlass.sdk.tasks.codec import UNKNOWN, Codec, Unusable, schemas_of
from windlass.sdk.tasks.type_hints import hints_of, signature_of

_POSITIONAL: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME: Final = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_REST: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


class Slot:
    """A parameter: its name, and how values get through it."""

    __slots__ = ("codec", "name")

    def __init__(self, name: str, hint: Any) -> None:
        self.name, self.codec = name, Codec(hint)


class Arguments:
    def __init__(self, task: str, function: Callable[..., Any]) -> None:
        signature = signature_of(function)
        hints = hints_of(function, signature)
        parameters = signature.parameters.values()
        slots = {p.name: Slot(p.name, hints[p.name]) for p in parameters}
        self._task = task
        self._positional = [slots[p.name] for p in parameters if p.kind in _POSITIONAL]
        self._named = {p.name: slots[p.name] for p in parameters if p.kind in _BY_NAME}
        self._rest = _only(slots, parameters, Parameter.VAR_POSITIONAL)
        self._others = _only(slots, parameters, Parameter.VAR_KEYWORD)
        plain = [p for p in parameters if p.kind not in _REST]
        self._required = frozenset(p.name for p in plain if p.default is p.empty)
        self._is_whole_by_position = self._required <= {slot.name for slot in self._positional}
        self._returned = Slot("return", hints["return"])
        self._head = b'{"task":' + msgspec.json.encode(task) + b',"args":['
        first = self._positional[0].codec.hint if self._positional else None
        self._spreads_tuples = not _is_made_of(first, tuple)
        self._spreads_names = not _is_made_of(first, Mapping)

    def encode(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
        """The input of a job, as JSON. Raises InvalidArguments."""
        self._check(len(args), kwargs)
        positional = b",".join([self._encoded(self._at(n), value) for n, value in enumerate(args)])
        return self._head + positional + self._tail(kwargs)

    def encode_many(self, items: Iterable[Any], fixed: Mapping[str, Any]) -> list[bytes]:
        """One input for each item: the first argument, or a tuple of several, or a dict of names.

        A tuple or a dict is the first argument if that is declared to be one. Ten thousand of these
        are a common batch: what is the same for all is done once.
        """
        given = list(items)
        if not given or any(map(self._spreads, set(map(type, given)))):
            return [self._encode_item(item, fixed) for item in given]
        self._check(1, fixed)
        head, tail = self._head, self._tail(fixed)
        try:
            return [head + one + tail for one in self._at(0).codec.encode_many(given)]
        except Unusable:
            # One of them: it is named when its turn comes.
            return [self._encode_item(item, fixed) for item in given]

    def _spreads(self, kind: type) -> bool:
        """Whether an item of this type is not an argument by itself."""
        return (self._spreads_tuples and issubclass(kind, tuple)) or (
            self._spreads_names and issubclass(kind, dict)
        )

    def _encode_item(self, item: Any, fixed: Mapping[str, Any]) -> bytes:
        if not self._spreads(type(item)):
            return self.encode((item,), fixed)
        if isinstance(item, tuple):
            return self.encode(item, fixed)
        return self.encode((), {**item, **fixed})

    def decode(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """What the function is called with, from what JSON gave. Raises InvalidArguments."""
        self._check(len(args), kwargs)
        return (
            [self._decoded(self._at(n), value) for n, value in enumerate(args)],
            {name: self._decoded(self._of(name), value) for name, value in kwargs.items()},
        )

    def encode_result(self, value: Any) -> bytes | None:
        """The result as JSON; None if there is none. Raises InvalidArguments."""
        try:
            written = self._returned.codec.encode(value)
        except Unusable as trouble:
            raise self._unfit(trouble) from None
        return None if value is None else written

    def decode_result(self, value: Any) -> Any:
        """What the caller gets, from what JSON gave. Raises InvalidArguments."""
        try:
            return self._returned.codec.decode(value)
        except Unusable as trouble:
            raise self._unfit(trouble) from None

    def _unfit(self, trouble: Unusable) -> InvalidArguments:
        detail = f"its result is not what it says that it returns: {trouble}"
        return InvalidArguments(task=self._task, parameter=None, detail=detail)

    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of its parameters by name."""
        named = {slot.name: slot for slot in self._positional} | self._named
        schemas, below = schemas_of([slot.codec.hint for slot in named.values()])
        schema: dict[str, Any] = {
            "type": "object",
            "properties": dict(zip(named, schemas, strict=True)),
            "required": [name for name in named if name in self._required],
            "additionalProperties": self._others is not None,
        }
        return schema | ({"$defs": below} if below else {})

    def output_schema(self) -> dict[str, Any] | None:
        """None: its result may be anything."""
        if self._returned.codec.hint is UNKNOWN:
            return None
        (schema,), below = schemas_of([self._returned.codec.hint])
        return schema | ({"$defs": below} if below else {})

    def _check(self, count: int, kwargs: Mapping[str, Any]) -> None:
        """That a call with so many values by position and these by name is one."""
        if not kwargs and count == len(self._positional) and self._is_whole_by_position:
            return  # nothing by name, nothing missing: most calls, and a node makes many
        if count > len(self._positional) and self._rest is None:
            most = f"takes {len(self._positional)} by position, and {count} were given"
            raise InvalidArguments(task=self._task, parameter=None, detail=most)
        by_position = {slot.name for slot in self._positional[:count]}
        for name in kwargs:
            if name in by_position and name in self._named:
                raise self._refused(name, "is given twice: by position and by name")
            if name not in self._named and self._others is None:
                known = " ".join(self._named) or "none"
                raise self._refused(str(name), f"is no parameter of it; by name it takes: {known}")
        for name in self._required - by_position:
            if name not in kwargs:
                raise self._refused(name, "is missing")

    def _tail(self, kwargs: Mapping[str, Any]) -> bytes:
        named = [
            msgspec.json.encode(name) + b":" + self._encoded(self._of(name), value)
            for name, value in kwargs.items()
        ]
        return b'],"kwargs":{' + b",".join(named) + b"}}"

    def _at(self, index: int) -> Slot:
        if index < len(self._positional):
            return self._positional[index]
        assert self._rest is not None
        return self._rest

    def _of(self, name: str) -> Slot:
        found = self._named.get(name) or self._others
        assert found is not None
        return found

    def _encoded(self, slot: Slot, value: Any) -> bytes:
        try:
            return slot.codec.encode(value)
        except Unusable as trouble:
            raise self._refused(slot.name, str(trouble)) from None

    def _decoded(self, slot: Slot, value: Any) -> Any:
        try:
            return slot.codec.decode(value)
        except Unusable as trouble:
            raise self._refused(slot.name, str(trouble)) from None

    def _refused(self, parameter: str, detail: str) -> InvalidArguments:
        return InvalidArguments(task=self._task, parameter=parameter, detail=detail)


def _only(slots: dict[str, Slot], parameters: Iterable[Parameter], kind: object) -> Slot | None:
    """The slot of `*args` or of `**kwargs`."""
    return next((slots[p.name] for p in parameters if p.kind is kind), None)


def _is_made_of(hint: Any, kind: type) -> bool:
    """Whether a hint says tuple (dict, …), or one of several that is."""
    origin = typing.get_origin(hint) or hint
    if origin in (typing.Union, UnionType, typing.Annotated):
        return any(_is_made_of(inner, kind) for inner in typing.get_args(hint))
    return isinstance(origin, type) and issubclass(origin, kind)
