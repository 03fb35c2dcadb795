"""Texts with expressions in them: `Order ${inputs.id} of ${size(steps.list.output)}`.

`$${` stands for `${` itself. Where an expression ends is told by its own tokens: a brace inside a
text or a map of the expression does not end it.
"""

from __future__ import annotations

import re
from typing import Final

from windlass.limits import EXPRESSION_CHARS_MAX
from windlass.model.expression import Expression, compile_expression
from windlass.model.expression.tokens import tokens

_OPENING: Final = re.compile(r"\$?\$\{")
_CHANGE: Final = {"{": 1, "}": -1}


def split_text(text: str) -> tuple[str | Expression, ...]:
    """Its parts in order. Raises ValueError that says what is wrong with which expression."""
    parts: list[str | Expression] = []
    plain, at = "", 0
    while opening := _OPENING.search(text, at):
        plain += text[at : opening.start()]
        at = opening.end()
        if opening[0] == "$${":
            plain += "${"
            continue
        end = _end_of(text, at)
        if plain:
            parts.append(plain)
        parts.append(_compiled(text[at:end]))
        plain, at = "", end + 1
    plain += text[at:]
    return (*parts, plain) if plain else tuple(parts)


def _end_of(text: str, at: int) -> int:
    """Where the brace stands that closes the expression begun at `at`."""
    depth = 0
    try:
        # One that is longer than allowed is not searched to its end.
        for token in tokens(text, at, at + EXPRESSION_CHARS_MAX + 1):
            if token.text == "}" and not depth:
                return token.at
            depth += _CHANGE.get(token.text, 0)
    except ValueError as trouble:
        raise ValueError(f"${{{_shown(text[at:])} is not CEL: {trouble}") from None
    raise ValueError(
        f"${{{_shown(text[at:])} has no closing brace; $${{ stands for the two characters ${{"
    )


def _compiled(source: str) -> Expression:
    try:
        return compile_expression(source.strip())
    except ValueError as trouble:
        raise ValueError(f"${{{_shown(source)}}} {trouble}") from None


def _shown(source: str) -> str:
    return source if len(source) <= 60 else source[:60] + "…"
