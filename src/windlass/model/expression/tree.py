"""The syntax tree of an expression: its nodes, and how to go through them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never


@dataclass(frozen=True, slots=True)
class Literal:
    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    name: str
    slot: int | None  # of the loop that binds it; None: it asks the scope


@dataclass(frozen=True, slots=True)
class Select:
    """`of.key`, `of["key"]` or `of[3]`: known before anything is evaluated."""

    of: Node
    key: str | int


@dataclass(frozen=True, slots=True)
class Index:
    of: Node
    at: Node


@dataclass(frozen=True, slots=True)
class Has:
    of: Node
    key: str


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    of: Node | None  # None: not called as a method
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    kind: str
    of: Node
    name: str
    slot: int  # each loop's own, so that one that is left by an error hides nothing of another
    only: Node | None  # `map(x, only, body)`
    body: Node


@dataclass(frozen=True, slots=True)
class ListOf:
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    pairs: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True, slots=True)
class Unary:
    sign: str
    of: Node


@dataclass(frozen=True, slots=True)
class Chain:
    """`first sign part sign part …`, from left to right."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Choice:
    condition: Node
    yes: Node
    no: Node


Node: TypeAlias = (
    Literal | Name | Select | Index | Has | Call | Loop | ListOf | MapOf | Unary | Chain | Choice
)


def weight(node: Node) -> int:
    """How many nodes a tree has."""
    return 1 + sum(weight(part) for part in parts_of(node))


def parts_of(node: Node) -> tuple[Node, ...]:
    match node:
        case Select(of) | Has(of) | Unary(_, of):
            return (of,)
        case Index(of, at):
            return (of, at)
        case Call(_, of, arguments):
            return arguments if of is None else (of, *arguments)
        case Loop(_, of, _, _, only, body):
            return (of, body) if only is None else (of, only, body)
        case ListOf(items):
            return items
        case MapOf(pairs):
            return tuple(part for pair in pairs for part in pair)
        case Chain(first, rest):
            return (first, *(part for _, part in rest))
        case Choice(condition, yes, no):
            return (condition, yes, no)
        case Literal() | Name():
            return ()
        case _:
            assert_never(node)
