"""Plain paths, such as `steps.a.output[0].id`: most expressions are one, and it is only walked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from typing import Any, Final, TypeAlias
from uuid import UUID

from windlass.model.expression.tree import Name, Node, Select
from windlass.model.expression.values import BY_NAME, TypeName, Unanswerable, type_of
from windlass.model.json.storable import harmless_text

Key: TypeAlias = str | int
Walk: TypeAlias = Callable[[Mapping[str, Any]], Any]

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PLAIN: Final = frozenset((str, int, float, bool, type(None), dict, list))
_KEYS_SHOWN: Final = 8
_KEY_CHARS_SHOWN: Final = 60


def path_of(node: Node) -> tuple[str, tuple[Key, ...]] | None:
    """The name and the keys below it, if the tree is a path that begins in the scope."""
    keys: list[Key] = []
    while isinstance(node, Select):
        keys.append(node.key)
        node = node.of
    if not isinstance(node, Name) or node.slot is not None:
        return None
    return node.name, tuple(reversed(keys))


def walker(root: str, keys: tuple[Key, ...]) -> Walk:
    """What finds the value at the path, or raises Unanswerable that says where it ends."""

    def walk(scope: Mapping[str, Any]) -> Any:
        try:
            value = scope[root]
            for key in keys:
                value = value[key]
        except (KeyError, IndexError, TypeError):
            return _walk_slowly(scope, root, keys)
        return value if type(value) in PLAIN else known(value)

    def walk_with_elements(scope: Mapping[str, Any]) -> Any:
        try:
            value = scope[root]
            for key in keys:
                # A text has elements to Python, but not to CEL.
                if isinstance(value, str):
                    return _walk_slowly(scope, root, keys)
                value = value[key]
        except (KeyError, IndexError, TypeError):
            return _walk_slowly(scope, root, keys)
        return value if type(value) in PLAIN else known(value)

    def type_or_value(scope: Mapping[str, Any]) -> Any:
        return known(scope[root]) if root in scope else BY_NAME[root]

    if not keys and root in BY_NAME:
        return type_or_value
    return walk if all(type(key) is str for key in keys) else walk_with_elements


def _walk_slowly(scope: Mapping[str, Any], root: str, keys: tuple[Key, ...]) -> Any:
    try:
        value = known(scope[root])
    except KeyError:
        raise Unanswerable(
            lambda: f"there is no {root!r} here; there are: {_listed(scope)}"
        ) from None
    for depth, key in enumerate(keys):
        value = child(value, key, partial(shown, root, keys[:depth]))
    return value


def child(value: Any, key: Any, where: Callable[[], str]) -> Any:
    """The field or element of a value; `where` is called when there is none."""
    if type(value) is dict:
        if type(key) is bool or type(key) not in (str, int):
            raise Unanswerable(f"fields have names, and {type_of(key)} is none")
        if key in value:
            return known(value[key])
        raise Unanswerable(lambda: _missing(value, key, where()))
    if isinstance(value, Mapping):
        try:
            return known(value[key])
        except KeyError:
            raise Unanswerable(lambda: _missing(value, key, where())) from None
    if type(value) is not list:
        asked = f"[{key}]" if type(key) is int else f"{_key(key)!r}"
        raise Unanswerable(
            lambda: f"{where()} is {_said(value)}, which has no {asked} (no such overload)"
        )
    if type(key) is not int:
        raise Unanswerable(f"{where()} is a list; its elements are asked for as [0], [1] …")
    if not 0 <= key < len(value):
        count = f"{len(value)} element{'s' if len(value) != 1 else ''}"
        raise Unanswerable(lambda: f"index out of range: {where()} has {count}, and no [{key}]")
    return known(value[key])


def known(value: Any) -> Any:
    """The value as one of the types that expressions know. A mapping may stay a lazy one."""
    if type(value) in PLAIN or isinstance(value, Mapping | timedelta | TypeName):
        return value
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, Enum):
        return known(value.value)
    if isinstance(value, UUID):
        return str(value)
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, tuple):
        return list(value)
    raise Unanswerable(f"a value of {type(value).__name__} has no meaning in expressions")


def shown(root: str, keys: tuple[Key, ...]) -> str:
    """The path as it would be written."""
    return root + "".join(_step(key) for key in keys)


def _step(key: Key) -> str:
    if type(key) is int:
        return f"[{key}]"
    return f".{key}" if _IDENTIFIER.fullmatch(str(key)) else f'["{_key(key)}"]'


def _missing(value: Mapping[str, Any], key: Key, where: str) -> str:
    asked = f"has({where}{_step(key)})" if type(key) is str else f"{key} in {where}"
    return (
        f"there is no key {_key(key)!r} in {where}, which has: {_listed(value)}; ask {asked} first"
    )


def _listed(value: Mapping[str, Any]) -> str:
    names = [_key(name) for name, _ in zip(value, range(_KEYS_SHOWN), strict=False)]
    rest = len(value) - len(names)
    return (", ".join(names) + (f" and {rest} more" if rest > 0 else "")) if names else "nothing"


def _key(key: object) -> str:
    return harmless_text(str(key)[:_KEY_CHARS_SHOWN])


def _said(value: Any) -> str:
    return "null" if value is None else str(type_of(value))
