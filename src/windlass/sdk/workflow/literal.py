"""Python constants as CEL, and values inside of texts.

An f-string asks a traced value for its text. It answers with a mark that carries its CEL between
two characters of Unicode's private use, so that later the text can be taken apart again:

    f"Order {order['id']}"  ->  'Order ⟨inputs.order.id⟩'  ->  "Order ${inputs.order.id}"
"""

from __future__ import annotations

import math
import re
from typing import Final

from windlass.sdk.workflow.cannot_trace import CannotTrace

OPENING, CLOSING = "\ue000", "\ue001"
_MARK: Final = re.compile(f"{OPENING}([^{CLOSING}]*){CLOSING}")
_ESCAPES: Final = {
    "\\": "\\\\",
    "'": "\\'",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    OPENING: "\\ue000",
    CLOSING: "\\ue001",
}
_INT_MAX: Final = 2**63 - 1


def marked(cel: str) -> str:
    """A text that stands for an expression."""
    return f"{OPENING}{cel}{CLOSING}"


def parts_of(text: str) -> list[tuple[str, bool]]:
    """Its parts in order: (text, False), or (CEL, True)."""
    found = _MARK.split(text)
    return [(part, n % 2 == 1) for n, part in enumerate(found) if part]


def template_text(text: str) -> str:
    """The text as a template has it: marks become `${ }`, and what looks like one is escaped."""
    made = ""
    for part, is_cel in parts_of(text):
        if not is_cel:
            made += part.replace("${", "$${")
        elif made.endswith("$"):
            # A price: "$" before an expression would read as an escape of it.
            made = f"{made[:-1]}${{'$'}}${{{part}}}"
        else:
            made += f"${{{part}}}"
    return made


def text_literal(text: str) -> str:
    """A text in CEL; with marks in it, a sum of texts in brackets."""
    parts = parts_of(text)
    if not any(is_cel for _, is_cel in parts):
        return quoted(text)
    texts = (f"string({part})" if is_cel else quoted(part) for part, is_cel in parts)
    return f"({' + '.join(texts)})"


def literal(value: bool | int | float | str | None) -> str:
    """A constant in CEL. Raises CannotTrace for a number that JSON or CEL does not have."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return text_literal(value)
        case int() if -_INT_MAX <= value <= _INT_MAX:
            return repr(value)
        case float() if math.isfinite(value):
            return repr(value)
        case _:
            raise CannotTrace("a number of more than 64 bits, or no number, has no CEL")


def quoted(text: str) -> str:
    return "'" + "".join(_ESCAPES.get(sign, sign) for sign in text) + "'"
