"""The tokens of CEL (lexer), and what its literals stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""
      (?P<space> [ \t\r\n\f]+ | //[^\n]* )
    | (?P<text>
        [bB]?[rR](?: \"{3}(?s:.*?)\"{3} | '{3}(?s:.*?)'{3} | "[^"\r\n]*" | '[^'\r\n]*' )
      | [bB]?(?: \"{3}(?s:(?:[^\\]|\\.)*?)\"{3} | '{3}(?s:(?:[^\\]|\\.)*?)'{3}
               | "(?:[^"\\\r\n]|\\[^\r\n])*" | '(?:[^'\\\r\n]|\\[^\r\n])*' ) )
    | (?P<double> [0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)? | [0-9]+[eE][+-]?[0-9]+
                | \.[0-9]+(?:[eE][+-]?[0-9]+)? )
    | (?P<int> 0x[0-9a-fA-F]+[uU]? | [0-9]+[uU]? )
    | (?P<name> [A-Za-z_][A-Za-z0-9_]* )
    | (?P<sign> && | \|\| | [=!<>]= | [-+*/%!<>?:.,()\[\]{}] )
    """,
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(
    r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)
_SHORT: Final = dict(zip("abfnrtv\\?\"'`", "\a\b\f\n\r\t\v\\?\"'`", strict=True))


class Token(NamedTuple):
    kind: str  # text double int name sign end
    text: str
    at: int  # of its first character


def tokens(source: str, start: int = 0, stop: int | None = None) -> Iterator[Token]:
    """The tokens from `start` to `stop`, `end` last. Raises ValueError at what is no token."""
    at, stop = start, min(len(source), stop or len(source))
    while at < stop:
        found = _TOKEN.match(source, at, stop)
        if found is None:
            raise ValueError(f"{source[at]!r} at character {at + 1} has no meaning here")
        assert found.lastgroup is not None
        if found.lastgroup != "space":
            yield Token(found.lastgroup, found[0], at)
        at = found.end()
    yield Token("end", "", at)


def read_text(written: str) -> str | bytes:
    """What a text literal stands for."""
    prefix = written[: min(written.find(quote) % (len(written) + 1) for quote in "\"'")].lower()
    body = written[len(prefix) :]
    body = body[3:-3] if body[:3] in ('"""', "'''") and len(body) >= 6 else body[1:-1]
    if "b" in prefix:
        return _read_bytes(body, "r" in prefix)
    return body if "r" in prefix or "\\" not in body else _ESCAPE.sub(_character, body)


def _character(found: re.Match[str]) -> str:
    hexadecimal = found[1] or found[2] or found[3]
    code = int(hexadecimal, 16) if hexadecimal else int(found[4], 8) if found[4] else None
    if code is None:
        if found[5] not in _SHORT:
            raise ValueError(f"{found[0]} is no escape in a text; a backslash is written \\\\")
        return _SHORT[found[5]]
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"{found[0]} is no character")
    return chr(code)


def _read_bytes(body: str, is_raw: bool) -> bytes:
    if is_raw:
        return body.encode()
    made, at = bytearray(), 0
    for found in _ESCAPE.finditer(body):
        made += body[at : found.start()].encode()
        if found[2] or found[3]:
            raise ValueError(f"{found[0]} stands for a character, and this is a text of bytes")
        character = _character(found)
        made += bytes([ord(character)])
        at = found.end()
    return bytes(made + body[at:].encode())
