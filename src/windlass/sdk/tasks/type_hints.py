"""A function's signature and type hints, as far as they can be known at run time."""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Awaitable, Callable, Coroutine
from inspect import Parameter, Signature
from types import SimpleNamespace
from typing import Any, Final

from windlass.sdk.tasks.codec import UNKNOWN

_ANYTHING: Final = Signature(
    [Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD)]
)


def signature_of(function: Callable[..., Any]) -> Signature:
    """What cannot be read takes anything."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return _ANYTHING


def hints_of(function: Callable[..., Any], signature: Signature) -> dict[str, Any]:
    """The hint of each parameter and of `return`; Any where there is none, or none that is known.

    A name under TYPE_CHECKING is not there at run time: it makes its own hint unknown, and leaves
    the others alone.
    """
    names = _globals_of(function)
    written = {p.name: p.annotation for p in signature.parameters.values()}
    written["return"] = signature.return_annotation
    hints = {name: _resolved(annotation, names) for name, annotation in written.items()}
    if typing.get_origin(hints["return"]) in (Coroutine, Awaitable):
        hints["return"] = typing.get_args(hints["return"])[-1]
    return hints


def _resolved(annotation: Any, names: dict[str, Any]) -> Any:
    if annotation is Signature.empty:
        return UNKNOWN
    holder = SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(holder, names, include_extras=True)["it"]
    except Exception:  # an annotation may be any expression at all
        return UNKNOWN


def _globals_of(function: Callable[..., Any]) -> dict[str, Any]:
    plain: Any = inspect.unwrap(function)
    while isinstance(plain, functools.partial):
        plain = inspect.unwrap(plain.func)
    found = getattr(plain, "__globals__", None)
    if found is None:  # an object that can be called
        found = vars(sys.modules.get(type(plain).__module__, typing))
    return dict(found)
