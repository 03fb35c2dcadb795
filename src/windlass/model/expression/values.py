"""The types of CEL and their names; values of JSON, and times beside them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final


class TypeName(str):
    """What `type(x)` gives and `int`, `string` … stand for."""

    __slots__ = ()


_NAMES: Final[dict[type, TypeName]] = {
    type(None): TypeName("null_type"),
    bool: TypeName("bool"),
    int: TypeName("int"),
    float: TypeName("double"),
    str: TypeName("string"),
    bytes: TypeName("bytes"),
    list: TypeName("list"),
    dict: TypeName("map"),
    datetime: TypeName("timestamp"),
    timedelta: TypeName("duration"),
    TypeName: TypeName("type"),
}
BY_NAME: Final = {str(name): name for name in _NAMES.values()}


def type_of(value: Any) -> TypeName:
    return _NAMES.get(type(value)) or TypeName(type(value).__name__)
