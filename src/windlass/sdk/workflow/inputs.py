"""The parameters of a workflow function: its inputs, their JSON Schema, and a start's arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Annotated, Any, Final, get_origin

import msgspec

from windlass.errors import InvalidArguments
from windlass.extras import ServerNotInstalled
from windlass.model.json.schema_check import schema_mistakes
from windlass.sdk.tasks.codec import Codec, Unusable, encode_unknown, schemas_of
from windlass.sdk.tasks.type_hints import hints_of, signature_of
from windlass.sdk.workflow.cannot_trace import CannotTrace
from windlass.sdk.workflow.value import Value

_REST: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


class Inputs:
    def __init__(self, workflow: str, function: Callable[..., Any]) -> None:
        self._workflow = workflow
        self._signature = signature_of(function)
        hints = hints_of(function, self._signature)
        self._parameters = list(self._signature.parameters.values())
        for parameter in self._parameters:
            if parameter.kind in _REST:
                said = f"{parameter}: inputs of a workflow have names; write each of them"
                raise CannotTrace.of(function, said)
        self._hints = {one.name: _hint(hints[one.name]) for one in self._parameters}
        self._codecs = {name: Codec(hint) for name, hint in self._hints.items()}

    def values(self) -> tuple[list[Value], dict[str, Value]]:
        """What the function is called with while it is traced."""
        named = [one for one in self._parameters if one.kind is Parameter.KEYWORD_ONLY]
        positional = [one for one in self._parameters if one.kind is not Parameter.KEYWORD_ONLY]
        by_name = {one.name: Value(f"inputs.{one.name}") for one in named}
        return [Value(f"inputs.{one.name}") for one in positional], by_name

    def schema(self) -> dict[str, Any] | None:
        """None: it takes none."""
        if not self._parameters:
            return None
        found, below = schemas_of(list(self._hints.values()))
        properties = dict(zip(self._hints, found, strict=True))
        for name, schema in properties.items():
            # A hint may say what a workflow's schema cannot; then anything is let in.
            if _is_mistaken({**schema, "$defs": below}):
                properties[name] = {}
        required = []
        for one in self._parameters:
            if one.default is Parameter.empty:
                required.append(one.name)
            else:
                properties[one.name] = {**properties[one.name], "default": _constant(one.default)}
        made: dict[str, Any] = {"type": "object", "additionalProperties": False}
        if required:
            made["required"] = required
        made["properties"] = properties
        return made | ({"$defs": below} if below else {})

    def encode(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The input of an execution. Raises InvalidArguments naming the parameter."""
        return {name: self._encoded(name, value) for name, value in self._bound(args, kwargs)}

    def template(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The input of a step that runs this workflow: values as well as constants."""
        try:
            return dict(self._bound(args, kwargs))
        except InvalidArguments as trouble:
            raise CannotTrace(str(trouble)) from None

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
        try:
            return list(self._signature.bind(*args, **kwargs).arguments.items())
        except TypeError as trouble:
            raise InvalidArguments(task=self._workflow, parameter="", detail=str(trouble)) from None

    def _encoded(self, name: str, value: Any) -> Any:
        try:
            return msgspec.json.decode(self._codecs[name].encode(value))
        except Unusable as trouble:
            raise InvalidArguments(
                task=self._workflow, parameter=name, detail=str(trouble)
            ) from None


def _is_mistaken(schema: dict[str, Any]) -> bool:
    try:
        return bool(schema_mistakes(schema))
    except ServerNotInstalled:  # the server looks at it too, and has what that takes
        return False


def _hint(hint: Any) -> Any:
    """`Annotated[Value, list[str]]` is a Value to a type checker and a list to a start."""
    if get_origin(hint) is not Annotated or hint.__origin__ not in (Value, Any):
        return Any if hint is Value else hint
    kind, *notes = hint.__metadata__
    if not isinstance(kind, type) and get_origin(kind) is None:
        return Any  # a note about anything
    return Annotated[kind, *notes] if notes else kind


def _constant(value: Any) -> Any:
    """A default is JSON and no template."""
    return msgspec.to_builtins(value, enc_hook=encode_unknown, str_keys=True)
