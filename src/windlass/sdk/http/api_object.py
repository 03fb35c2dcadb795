"""Objects of the API: the dict that the server sent, with typed attributes.

    job["created_at"]    # '2026-01-02T03:04:05.000006Z', as the API has it
    job.created_at       # datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)

Owns: how an attribute is read: instants become datetimes and objects within become objects, by the
annotations of the class. Each kind of object is a class in sdk.objects.
Promises: it is a dict with exactly what the server sent, so whatever takes a dict takes it: JSON
encoders, equality, `dict(job)`. A field that this release does not know is there as item and as
attribute. Nothing is converted until it is asked for (docs/adr/0048).
Never: checks what the server sent, or sends anything.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Union, get_args, get_origin
from typing import get_type_hints as hints_of

# What makes an attribute of what JSON gave; None: it stays as it is.
Reader = Callable[[Any], Any]


class ApiObject(dict[str, Any]):
    """What the server said about one thing: a dict whose fields are attributes as well."""

    # What tells one from another in a repr.
    _shown: ClassVar[tuple[str, ...]] = ("id", "name", "state")

    etag: str | None
    """Of what can be changed, for `if_match`; None: it was not read alone, or has none."""

    def __repr__(self) -> str:
        said = (str(self[name]) for name in self._shown if self.get(name) is not None)
        return f"<{' '.join((type(self).__name__, *said))}>"

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in self if name.isidentifier())})

    if not TYPE_CHECKING:  # for a type checker a name that is not annotated is a mistake

        def __getattr__(self, name: str) -> Any:
            known = _fields_of(type(self)).get(name)
            if name in self:
                value = self[name]
                if known is None or known.read is None or value is None:
                    return value
                return known.read(value)
            if known is not None and known.is_optional:
                return None
            kind = type(self).__name__
            raise AttributeError(
                f"this {kind} has no {name!r}; it has {', '.join(self) or 'nothing'}",
                name=name,
                obj=self,
            )

        def __setattr__(self, name: str, value: object) -> NoReturn:
            raise AttributeError(
                f"a {type(self).__name__} is what the server said; setting {name!r} here would "
                "change nothing there",
                name=name,
                obj=self,
            )


class _Field:
    """How an attribute is read."""

    __slots__ = ("is_optional", "read")

    def __init__(self, hint: Any) -> None:
        self.is_optional = NoneType in get_args(hint) or hint is Any  # None stands for its absence
        self.read = _reader(hint)


@cache
def _fields_of(kind: type[ApiObject]) -> dict[str, _Field]:
    hints = hints_of(kind)
    return {name: _Field(hint) for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def _reader(hint: Any) -> Reader | None:
    origin, arms = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        rest = [arm for arm in arms if arm is not NoneType]
        return _reader(rest[0]) if len(rest) == 1 else None
    if origin is list:
        return _each_in_list(_reader(arms[0]))
    if origin is dict:
        return _each_in_dict(_reader(arms[1]))
    if hint is datetime:
        return datetime.fromisoformat
    if isinstance(hint, type) and issubclass(hint, ApiObject):
        return hint
    return None


def _each_in_list(read: Reader | None) -> Reader | None:
    return None if read is None else lambda values: [read(value) for value in values]


def _each_in_dict(read: Reader | None) -> Reader | None:
    return None if read is None else lambda values: {name: read(values[name]) for name in values}
