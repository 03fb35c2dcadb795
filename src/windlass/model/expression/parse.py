"""CEL read into a tree: the grammar of the language, without messages and optional fields.

    choice    = or [ "?" or ":" choice ]
    or        = and { "||" and }               relation = sum { ("<" | "==" | "in" | …) sum }
    and       = relation { "&&" relation }     sum      = product { ("+" | "-") product }
    product   = unary { ("*" | "/" | "%") unary }
    unary     = { "!" } member | { "-" } member
    member    = primary { "." name [ "(" … ")" ] | "[" choice "]" }

Loops bind a name, so the tree says of every name which loop binds it, or that it asks the scope.
How deep and how long an expression may be is bounded: whoever walks the tree does so without fear.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from windlass.limits import EXPRESSION_CHAIN_MAX, EXPRESSION_DEPTH_MAX, EXPRESSION_NODES_MAX
from windlass.model.expression.tokens import Token, read_text, tokens
from windlass.model.expression.tree import (
    Call,
    Chain,
    Choice,
    Has,
    Index,
    ListOf,
    Literal,
    Loop,
    MapOf,
    Name,
    Node,
    Select,
    Unary,
)

INT_MAX: Final = 2**63 - 1
LOOPS: Final = frozenset(("all", "exists", "exists_one", "existsOne", "map", "filter"))
_RESERVED: Final = frozenset(
    (
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_WORDS: Final = {"true": True, "false": False, "null": None}
_RELATIONS: Final = frozenset(("<", "<=", ">", ">=", "==", "!=", "in"))


def parse(source: str) -> Node:
    """The tree of `source`. Raises ValueError that says what is wrong and where."""
    parser = _Parser(list(tokens(source)))
    tree = parser.choice()
    parser.expect("")
    return tree


class _Parser:
    def __init__(self, read: list[Token]) -> None:
        self._tokens = read
        self._next = 0
        self._depth = 0
        self._nodes = 0
        self._bound: dict[str, int] = {}
        self._loops = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._next]

    def take(self, *texts: str) -> str | None:
        """The token's text if it is one of these signs or words, and go on."""
        token = self.token
        if token.text not in texts or token.kind == "text":
            return None
        self._next += 1
        return token.text

    def expect(self, text: str) -> None:
        if self.take(text) is None:
            raise self._trouble(f"{text!r} is expected" if text else "the end is expected")
        # The end stays where it is.
        self._next -= not text

    def choice(self) -> Node:
        self._depth += 1
        if self._depth > EXPRESSION_DEPTH_MAX:
            raise ValueError(f"is nested deeper than {EXPRESSION_DEPTH_MAX} levels")
        made = self._either()
        if self.take("?"):
            yes = self._either()
            self.expect(":")
            made = self._made(Choice(made, yes, self.choice()))
        self._depth -= 1
        return made

    def _either(self) -> Node:
        return self._chain(lambda: self._chain(self._relation, "&&"), "||")

    def _relation(self) -> Node:
        return self._chain(self._sum, *_RELATIONS)

    def _sum(self) -> Node:
        return self._chain(lambda: self._chain(self._unary, "*", "/", "%"), "+", "-")

    def _chain(self, part: Callable[[], Node], *signs: str) -> Node:
        first, rest = part(), []
        while sign := self.take(*signs):
            rest.append((sign, part()))
            if len(rest) > EXPRESSION_CHAIN_MAX:
                raise ValueError(f"has more than {EXPRESSION_CHAIN_MAX} operations in a row")
        return self._made(Chain(first, tuple(rest))) if rest else first

    def _unary(self) -> Node:
        sign, count = self.token.text, 0
        while (sign == "!" or sign == "-") and self.take(sign):
            count += 1
        made = self._member()
        if isinstance(made, Literal) and sign == "-" and count and type(made.value) in (int, float):
            made = Literal(-made.value if count % 2 else made.value)
            count = 0
        if isinstance(made, Literal) and type(made.value) is int and _is_too_large(made.value):
            raise ValueError("holds a whole number of more than 64 bits")
        # Two of them are none, but what they stand before must still be of their type.
        for _ in range(2 - count % 2 if count else 0):
            made = self._made(Unary(sign, made))
        return made

    def _member(self) -> Node:
        made, length = self._primary(), 0
        while sign := self.take(".", "["):
            length += 1
            if length > EXPRESSION_CHAIN_MAX:
                raise ValueError(f"has more than {EXPRESSION_CHAIN_MAX} fields in a row")
            made = self._field(made) if sign == "." else self._element(made)
        return made

    def _field(self, of: Node) -> Node:
        name = self._name()
        if not self.take("("):
            return self._made(Select(of, name))
        if name in LOOPS:
            return self._loop(name, of)
        return self._made(Call(name, of, self._arguments(")")))

    def _element(self, of: Node) -> Node:
        at = self.choice()
        self.expect("]")
        if isinstance(at, Literal) and (
            type(at.value) is str or (type(at.value) is int and at.value >= 0)
        ):
            return self._made(Select(of, at.value))
        return self._made(Index(of, at))

    def _loop(self, kind: str, of: Node) -> Node:
        name = self._name()
        if name in _RESERVED or not self.take(","):
            raise self._trouble(f"{kind} takes a name of your own and an expression")
        above, slot = self._bound, self._loops
        self._loops += 1
        self._bound = {**above, name: slot}
        parts = self._arguments(")")
        self._bound = above
        if len(parts) == 1:
            return self._made(Loop(kind, of, name, slot, None, parts[0]))
        if len(parts) == 2 and kind == "map":
            return self._made(Loop(kind, of, name, slot, parts[0], parts[1]))
        raise ValueError(f"{kind} takes a name and an expression, not {len(parts) + 1} arguments")

    def _primary(self) -> Node:
        token = self.token
        self._next += 1
        if token.kind == "text":
            return self._made(Literal(read_text(token.text)))
        if token.kind == "double":
            return self._made(Literal(float(token.text)))
        if token.kind == "int":
            return self._made(Literal(_whole(token.text)))
        if token.kind == "name":
            return self._named(token)
        if token.text == "(":
            inside = self.choice()
            self.expect(")")
            return inside
        if token.text == "[":
            return self._made(ListOf(self._arguments("]")))
        if token.text == "{":
            return self._map()
        self._next -= 1
        raise self._trouble("a value is expected")

    def _named(self, token: Token) -> Node:
        name = token.text
        if name in _WORDS:
            return self._made(Literal(_WORDS[name]))
        if name in _RESERVED or name == "in":
            raise ValueError(f"{name!r} at character {token.at + 1} is a reserved word")
        if not self.take("("):
            return self._made(Name(name, self._bound.get(name)))
        arguments = self._arguments(")")
        if name != "has":
            return self._made(Call(name, None, arguments))
        match arguments:
            case (Select(of, str(key)),):
                return self._made(Has(of, key))
            case _:
                raise ValueError("has() asks for a field, as in has(inputs.order)")

    def _arguments(self, closing: str) -> tuple[Node, ...]:
        made: list[Node] = []
        while not self.take(closing):
            if made:
                self.expect(",")
                # A list may end with a comma, a call may not.
                if closing == "]" and self.take("]"):
                    break
            made.append(self.choice())
        return tuple(made)

    def _map(self) -> Node:
        pairs: list[tuple[Node, Node]] = []
        while not self.take("}"):
            if pairs:
                self.expect(",")
                if self.take("}"):
                    break
            key = self.choice()
            self.expect(":")
            pairs.append((key, self.choice()))
        return self._made(MapOf(tuple(pairs)))

    def _name(self) -> str:
        token = self.token
        if token.kind != "name" or token.text in _WORDS or token.text == "in":
            raise self._trouble("a name is expected")
        self._next += 1
        return token.text

    def _made(self, node: Node) -> Node:
        self._nodes += 1
        if self._nodes > EXPRESSION_NODES_MAX:
            raise ValueError(f"has more than {EXPRESSION_NODES_MAX} parts")
        return node

    def _trouble(self, expected: str) -> ValueError:
        token = self.token
        found = f"{token.text[:40]!r} stands there" if token.text else "there is none"
        return ValueError(f"at character {token.at + 1} {expected}, and {found}")


def _whole(written: str) -> int:
    if written[-1] in "uU":
        raise ValueError("unsigned numbers are not needed here; leave the u away")
    return int(written, 16) if written[:2] == "0x" else int(written)


def _is_too_large(value: int) -> bool:
    return not -INT_MAX - 1 <= value <= INT_MAX
