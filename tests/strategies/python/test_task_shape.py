"""What a task takes, as its signature tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windlass.model.json.schema import value_problems
from windlass.strategies.python.task import shape_of

if TYPE_CHECKING:
    from elsewhere import Unknown  # type: ignore[import-not-found]


@dataclass
class Order:
    total: float
    note: str | None = None


def pack(what: str, count: int = 1, /, *rest: Any, order: Order, **more: Any) -> None: ...


def exact(a: list[int], b: dict[str, float]) -> None: ...


def vague(a, b=1):  # type: ignore[no-untyped-def]
    ...


def of_elsewhere(a: Unknown) -> None: ...


def test_parameters_become_a_schema_of_their_names() -> None:
    shape = shape_of(pack)
    assert shape is not None
    assert (shape.names, shape.has_rest) == (("what", "count"), True)
    assert shape.schema["required"] == ["what", "order"]
    assert value_problems({"what": "tea", "order": {"total": 5}, "x": 1}, shape.schema) == []
    found = value_problems({"what": 5, "order": {"total": "5", "note": None}}, shape.schema)
    assert [pointer for pointer, _ in found] == ["/what", "/order/total"]


def test_what_is_inside_a_list_or_an_object_is_known_too() -> None:
    shape = shape_of(exact)
    assert shape is not None
    found = value_problems({"a": [1, "2"], "b": {"x": "y"}, "c": 1}, shape.schema)
    assert [pointer for pointer, _ in found] == ["/a/1", "/b/x", "/c"]


def test_a_parameter_without_a_type_that_is_known_takes_anything() -> None:
    for function in (vague, of_elsewhere):
        shape = shape_of(function)
        assert shape is not None
        assert shape.schema["properties"]["a"] == {}


def test_what_has_no_signature_has_no_shape() -> None:
    assert shape_of(min) is None
