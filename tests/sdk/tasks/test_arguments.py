"""What gets through a task's signature, in both directions, and what is said of the rest."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict
from uuid import UUID

import attrs
import msgspec
import pydantic
import pytest

from windlass.errors import InvalidArguments
from windlass.sdk.tasks.arguments import Arguments

if TYPE_CHECKING:
    from elsewhere import Unknown  # type: ignore[import-not-found]


@dataclass
class Line:
    what: str
    count: int = 1


@dataclass
class Order:
    id: UUID
    lines: list[Line]
    total: Decimal
    made_at: datetime
    photo: bytes = b""
    notes: dict[int, str] = field(default_factory=dict)


class Parcel(msgspec.Struct):
    weight: float
    to: str | None = None


class Person(pydantic.BaseModel):
    name: str
    born: date
    emails: list[str] = []


class Family(pydantic.BaseModel):
    members: list[Person]


@attrs.define
class Box:
    width: int
    label: str = ""


class Address(TypedDict):
    street: str
    number: int


class Point(NamedTuple):
    x: int
    y: int


class Colour(Enum):
    RED = "red"


ORDER = Order(
    id=UUID(int=7),
    lines=[Line("tea", 2), Line("milk")],
    total=Decimal("12.50"),
    made_at=datetime(2030, 1, 31, 12, tzinfo=UTC),
    photo=b"\x00\xff",
    notes={3: "three"},
)
PERSON = Person(name="Ada", born=date(1815, 12, 10), emails=["ada@example.org"])


def order(it: Order) -> Order:
    return it


def parcel(it: Parcel) -> Parcel:
    return it


def person(it: Person) -> Person:
    return it


def family(it: Family) -> None: ...
def people(it: dict[str, list[Person]]) -> None: ...
def box(it: Box) -> None: ...
def address(it: Address) -> Address:
    return it


def point(it: Point) -> None: ...
def colour(it: Colour) -> None: ...
def instant(it: datetime | None) -> None: ...
def span(it: timedelta) -> None: ...
def path(it: Path) -> None: ...
def mixed(it: int | str | list[UUID]) -> None: ...
def keys(it: dict[int, set[str]]) -> None: ...
def anything(it: Any) -> Any: ...


def through(function: Callable[..., Any], value: object) -> Any:
    """What the function gets when this is given to it on the other side."""
    arguments = Arguments("it", function)
    sent = json.loads(arguments.encode([value], {}))
    assert sent["task"] == "it"
    args, kwargs = arguments.decode(sent["args"], sent["kwargs"])
    assert kwargs == {}
    return args[0]


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (order, ORDER),
        (parcel, Parcel(1.5, "Kiel")),
        (person, PERSON),
        (people, {"all": [PERSON]}),
        (family, Family(members=[PERSON])),
        (box, Box(3, "fragile")),
        (address, {"street": "Quay", "number": 5}),
        (point, Point(1, 2)),
        (colour, Colour.RED),
        (instant, None),
        (instant, datetime(2030, 1, 31, tzinfo=UTC)),
        (span, timedelta(minutes=3)),
        (path, Path("a/b")),
        (mixed, [UUID(int=1)]),
        (keys, {5: {"a", "b"}}),
        (anything, {"deep": [1, 2.5, None, True, "ü"]}),
    ],
)
def test_a_value_arrives_as_it_was_given(function: Callable[..., Any], value: object) -> None:
    assert through(function, value) == value


def test_a_result_comes_back_as_it_was_returned() -> None:
    for function, value in ((order, ORDER), (person, PERSON), (parcel, Parcel(2.0))):
        arguments = Arguments("it", function)
        written = arguments.encode_result(value)
        assert written is not None
        assert arguments.decode_result(json.loads(written)) == value
    assert Arguments("it", instant).encode_result(None) is None


def pack(what: str, count: int = 1, /, *rest: int, order: Line | None = None, **more: float) -> int:
    return count


@pytest.mark.parametrize(
    ("args", "kwargs", "parameter", "why"),
    [
        ((5,), {}, "what", "Expected `str`, got `int`"),
        (("tea", "2"), {}, "count", "Expected `int`, got `str`"),
        (("tea", True), {}, "count", "Expected `int`, got `bool`"),
        (("tea", 1, 2, "3"), {}, "rest", "Expected `int`, got `str`"),
        (("tea",), {"order": {"what": 1}}, "order", "Expected `str`, got `int` - at `.what`"),
        (("tea",), {"spare": "no"}, "more", "Expected `float`, got `str`"),
        (("tea",), {"spare": math.nan}, "more", "NaN or an infinity"),
        ((), {}, "what", "is missing"),
        ((object(),), {}, "what", "an object cannot be written as JSON"),
    ],
)
def test_what_does_not_fit_is_refused_by_the_name_of_its_parameter(
    args: tuple[Any, ...], kwargs: dict[str, Any], parameter: str, why: str
) -> None:
    with pytest.raises(InvalidArguments) as refused:
        Arguments("pack", pack).encode(args, kwargs)
    assert (refused.value.task, refused.value.parameter) == ("pack", parameter)
    assert why in refused.value.detail


def plain(a: int, *, b: int) -> int:
    return a + b


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ([1, 2], {"b": 3}, "takes 1 by position, and 2 were given"),
        ([1], {"a": 1, "b": 2}, "parameter 'a': is given twice: by position and by name"),
        ([1], {"b": 2, "c": 3}, "parameter 'c': is no parameter of it; by name it takes: a b"),
        ([1], {}, "parameter 'b': is missing"),
        ([1], {"b": "2"}, "parameter 'b': Expected `int`, got `str`"),
    ],
)
def test_the_node_refuses_in_the_same_words(
    args: list[Any], kwargs: dict[str, Any], said: str
) -> None:
    arguments = Arguments("plain", plain)
    for go in (arguments.encode, arguments.decode):
        with pytest.raises(InvalidArguments, match="task 'plain'") as refused:
            go(args, kwargs)
        assert said in str(refused.value)


def circular() -> list[Any]:
    held: list[Any] = []
    held.append(held)
    return held


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (circular(), "holds itself"),
        (lambda: 1, "a function cannot be written as JSON"),
        ({"deep": [math.inf]}, "NaN or an infinity"),
        ("half \ud800", "surrogate"),
        ({1, object()}, "cannot be written as JSON"),
    ],
    ids=["circular", "function", "infinity", "surrogate", "object in a set"],
)
def test_what_cannot_be_written_is_refused_even_where_anything_is_allowed(
    value: object, why: str
) -> None:
    arguments = Arguments("anything", anything)
    with pytest.raises(InvalidArguments, match=why) as refused:
        arguments.encode([value], {})
    assert refused.value.parameter == "it"
    with pytest.raises(InvalidArguments, match=why) as refused:
        arguments.encode_result(value)
    assert refused.value.parameter is None


@pytest.mark.parametrize(("value", "got"), [("1", "str"), (None, "null")])
def test_a_result_of_another_type_is_refused(value: object, got: str) -> None:
    said = (
        f"task 'pack': its result is not what it says that it returns: Expected `int`, got `{got}`"
    )
    with pytest.raises(InvalidArguments, match=f"^{said}$"):
        Arguments("pack", pack).encode_result(value)
    with pytest.raises(InvalidArguments, match=f"^{said}$"):
        Arguments("pack", pack).decode_result(value)


def of_elsewhere(a: Unknown, b: int) -> Unknown: ...
def untyped(a, b=1):  # type: ignore[no-untyped-def]
    ...


def unclear(a: datetime | str, b: Iterable[int], c: Line | Order) -> object: ...


def test_a_hint_that_cannot_be_resolved_allows_anything_and_spares_the_others() -> None:
    arguments = Arguments("of_elsewhere", of_elsewhere)
    assert arguments.decode([{"any": 1}, 2], {}) == ([{"any": 1}, 2], {})
    with pytest.raises(InvalidArguments, match="parameter 'b'"):
        arguments.encode([{"any": 1}, "2"], {})
    assert arguments.output_schema() is None
    assert Arguments("untyped", untyped).decode(["x"], {"b": None}) == (["x"], {"b": None})
    loose: list[Any] = ["2030-01-01", [1], {}]
    assert Arguments("unclear", unclear).decode(loose, {}) == (loose, {})


def test_what_has_no_signature_takes_anything() -> None:
    assert Arguments("min", min).decode([3, 1], {}) == ([3, 1], {})


async def ready(a: int) -> Line:
    return Line("tea")


def hidden(a: int) -> Coroutine[Any, Any, Line]:
    return ready(a)


def awaitable(a: int) -> Awaitable[Line]:
    return ready(a)


def test_an_async_function_gives_what_its_coroutine_gives() -> None:
    for function in (ready, hidden, awaitable):
        assert Arguments("it", function).decode_result({"what": "tea"}) == Line("tea")


def deliver(
    to: str, speed: Literal["slow", "fast"] = "slow", *, parcel: Parcel, who: Person
) -> Parcel:
    return parcel


def test_the_signature_becomes_a_json_schema() -> None:
    arguments = Arguments("deliver", deliver)
    schema = arguments.input_schema()
    assert schema["required"] == ["to", "parcel", "who"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["to"] == {"type": "string"}
    assert schema["properties"]["speed"] == {"enum": ["fast", "slow"]}
    assert schema["properties"]["parcel"] == {"$ref": "#/$defs/Parcel"}
    assert "born" in json.dumps(schema["properties"]["who"]), "pydantic describes its own"
    assert schema["$defs"]["Parcel"]["required"] == ["weight"]
    assert arguments.output_schema() == {
        "$ref": "#/$defs/Parcel",
        "$defs": {"Parcel": schema["$defs"]["Parcel"]},
    }


def test_what_a_schema_refers_to_is_found_from_the_top() -> None:
    schema = Arguments("family", family).input_schema()
    members = schema["properties"]["it"]["properties"]["members"]
    assert members["items"] == {"$ref": "#/$defs/Person"}
    assert schema["$defs"]["Person"]["required"] == ["name", "born"]
    assert "$defs" not in schema["properties"]["it"]


def add(a: int, b: int = 0) -> int:
    return a + b


def of_tuple(line: tuple[str, int]) -> None: ...
def of_names(it: Address | None) -> None: ...


def inputs(function: Callable[..., Any], items: Iterable[Any], **fixed: Any) -> list[Any]:
    made = [json.loads(one) for one in Arguments("it", function).encode_many(items, fixed)]
    return [(one["args"], one["kwargs"]) for one in made]


def test_an_item_is_the_first_argument_or_several_or_names() -> None:
    assert inputs(add, [1, 2], b=5) == [([1], {"b": 5}), ([2], {"b": 5})]
    assert inputs(add, [(1, 2), 3]) == [([1, 2], {}), ([3], {})]
    assert inputs(add, [{"a": 1}], b=2) == [([], {"a": 1, "b": 2})]
    assert inputs(add, iter(())) == []


def test_a_tuple_or_a_dict_is_one_argument_where_the_function_takes_one() -> None:
    assert inputs(of_tuple, [("tea", 2)]) == [([["tea", 2]], {})]
    assert inputs(of_names, [{"street": "Quay", "number": 5}]) == [
        ([{"street": "Quay", "number": 5}], {})
    ]


def test_an_item_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidArguments, match="parameter 'a': Expected `int`, got `str`"):
        inputs(add, [1, "2"])
    with pytest.raises(InvalidArguments, match="parameter 'c'"):
        inputs(add, [1], c=1)
