"""ETags and preconditions (optimistic lock; RFC 9110, 8.8.3 and 13): no lost updates.

A tag names what a PUT or PATCH can change of a thing; what the engine counts beside that does not
move it. Tags are written here as they are sent, quotes included.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import msgspec

from windlass.errors import PreconditionFailed
from windlass.limits import ETAG_CHARS_MAX, ETAGS_MAX

IF_MATCH: Final = "If-Match"
IF_NONE_MATCH: Final = "If-None-Match"
EVERY: Final = frozenset({"*"})  # no tag is written so: each has its quotes
_WEAK: Final = "W/"
_ONE: Final = rf'(W/)?"[!#-~]{{0,{ETAG_CHARS_MAX}}}"'
_LIST: Final = rf"{_ONE}([ \t]*,[ \t]*{_ONE}){{0,{ETAGS_MAX - 1}}}"
HEADER_PATTERN: Final = rf"^(\*|{_LIST})$"
_HEADER: Final = re.compile(rf"\*|{_LIST}")
_TAG: Final = re.compile(_ONE)
_DIGITS: Final = 32


def tag_of(*parts: object) -> str:
    """The strong tag of a thing whose changeable parts are these."""
    return f'"{sha256(msgspec.json.encode(parts)).hexdigest()[:_DIGITS]}"'


def read_tags(text: str) -> frozenset[str]:
    """The tags that a header lists; EVERY for `*`. Raises ValueError."""
    if not _HEADER.fullmatch(text):
        raise ValueError(
            f'must be * or up to {ETAGS_MAX} ETags, each in its quotes, such as "3f2a", "77b0"'
        )
    return EVERY if text == "*" else frozenset(found.group() for found in _TAG.finditer(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Precondition:
    """How a thing must be for a change to be made. Judged where the change is, under its lock."""

    match: frozenset[str] | None = None  # it has one of these tags; None: does not matter
    none_match: frozenset[str] | None = None  # it has none of them; None: does not matter

    @property
    def is_given(self) -> bool:
        return self.match is not None or self.none_match is not None

    def check(self, noun: str, name: str, tag: str | None) -> None:
        """`tag` None: there is no such thing. Raises PreconditionFailed."""
        unmet = None
        if self.match is not None and not _is_in(tag, self.match):
            unmet = IF_MATCH
        elif self.none_match is not None and _is_in(tag, _strong(self.none_match)):
            unmet = IF_NONE_MATCH
        if unmet is not None:
            raise PreconditionFailed(noun=noun, name=name, header=unmet, etag=tag)


UNCONDITIONAL: Final = Precondition()


def is_among(tag: str, tags: frozenset[str]) -> bool:
    """By the weak comparison, which is for reading."""
    return _is_in(tag, _strong(tags))


def _is_in(tag: str | None, tags: frozenset[str]) -> bool:
    # A weak tag of the caller's is in the set as such, and so never the same as a strong one.
    return tag is not None and (tags == EVERY or tag in tags)


def _strong(tags: frozenset[str]) -> frozenset[str]:
    return frozenset(tag.removeprefix(_WEAK) for tag in tags)
