"""Redaction: what was before and after as the audit log may show it.

Who records something hands over no secret in the first place; this is for what a user has put where
it does not belong, and for what nobody thought of. A member is judged by its name, or by the name
beside it; a header by being one, however headers are written; and any text is searched for tokens,
for passwords in addresses and for what follows `Bearer`. Everything is bounded: levels, members,
characters, and bytes in all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final, overload

from windlass.limits import (
    AUDIT_BYTES_MAX,
    AUDIT_DEPTH_MAX,
    AUDIT_MEMBERS_MAX,
    AUDIT_TEXT_CHARS_MAX,
    AUDIT_VALUES_MAX,
)
from windlass.model.json.storable import harmless_json, harmless_text

REDACTED: Final = "[redacted]"
# A name with one of these words in it has no value that is shown.
_SECRET_NAME: Final = re.compile(
    r"secret|passw|passphrase|pwd|token|jwt|credential|authori[sz]ation|cookie|signature|bearer|"
    r"(?:api|access|private|signing|master|encryption)[_-]?key|^auth$|^basic$|"
    r"(?:^|[_-])(?:pass|otp|pin)$",
    re.IGNORECASE,
)
# Unless it says something about it, and not what it is.
_HARMLESS_NAME: Final = frozenset(
    {"has_password", "must_change_password", "secret_name", "tokens_revoked"}
)
_HEADERS: Final = re.compile(r"headers$", re.IGNORECASE)
_PLAIN_HEADERS: Final = frozenset(
    {"accept", "accept-encoding", "accept-language", "content-type", "user-agent"}
)
# What would be a secret wherever it stands: ours, and what others show it with. Every repetition is
# bounded, or ends at what begins the next one: these are searched for in hostile text.
_TOKENS: Final = re.compile(
    r"\bwl[ks]_[A-Za-z0-9_-]{20,}|\bwhs(?:ec|k)_[A-Za-z0-9+/=_-]{16,}|"
    r"(?<=bearer )[A-Za-z0-9._~+/=-]{8,}|(?<=basic )[A-Za-z0-9+/=]{8,}|"
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*",
    re.IGNORECASE | re.DOTALL,
)
# Most texts have none of these, and are not searched at all.
_MARKS: Final = ("wlk_", "wls_", "whsec_", "whsk_", "bearer ", "basic ", "-----begin ")
_USERINFO: Final = re.compile(r"(?<=://)[^/?#\s]*@")
_QUERY: Final = re.compile(r"([?&#])([^=?&#\s]{1,64})=([^?&#\s]+)")
_QUERY_NAME: Final = re.compile(r"passw|secret|token|key|sig|auth|code|cred", re.IGNORECASE)
# JSONB writes every digit of a number: 1e300 would take 300, and so would 1e-300.
_NUMBER_MAX: Final = 2**63


@overload
def short(text: str, chars_max: int) -> str: ...
@overload
def short(text: str | None, chars_max: int) -> str | None: ...
def short(text: str | None, chars_max: int) -> str | None:
    """Text that PostgreSQL takes, cut off with a mark."""
    if text is None:
        return None
    # What is far too long is not searched for what is wrong with it.
    text = harmless_text(text[: chars_max + 1])
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"


def redacted(value: Mapping[str, Any] | None) -> str | None:
    """As JSON."""
    if value is None:
        return None
    text = harmless_json(_Shown().members(value, AUDIT_DEPTH_MAX))
    if len(text.encode()) <= AUDIT_BYTES_MAX:
        return text
    # The names are most of what one wants to know.
    names = {_name(name): "…" for name in islice(value, AUDIT_MEMBERS_MAX)}
    return harmless_json({**names, "…": f"{len(text)} characters were left out"})


class _Shown:
    """One value on its way to being shown: a tree of lists may be far larger than it is deep."""

    def __init__(self) -> None:
        self._left = AUDIT_VALUES_MAX

    def value(self, value: Any, depth: int, *, are_headers: bool = False) -> Any:
        self._left -= 1
        if is_dataclass(value) and not isinstance(value, type):
            value = asdict(value)
        match value:
            case None | bool():
                return value
            case int() | float():
                is_plain = value == value and abs(value) < _NUMBER_MAX and "e" not in repr(value)
                return value if is_plain else _text(_digits(value))
            case str():
                return REDACTED if are_headers else _text(value)
            case datetime():
                return value.isoformat()
            case _ if depth == 0 or self._left <= 0:
                return "…"
            case Mapping():
                return self.members(value, depth, are_headers=are_headers)
            case list() | tuple():
                return self._items(value, depth, are_headers=are_headers)
            case set() | frozenset():
                return self._items(sorted(value, key=str), depth, are_headers=are_headers)
            case _:
                return _text(str(value))

    def members(
        self, value: Mapping[Any, Any], depth: int, *, are_headers: bool = False
    ) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        # {"name": "DB_PASSWORD", "value": …}: so variables are often written.
        of_secret = any(_sounds_secret(value.get(name)) for name in ("name", "key"))
        for name, member in value.items():
            if len(shown) == AUDIT_MEMBERS_MAX or self._left <= 0:
                shown["…"] = f"and {len(value) - len(shown)} more"
                break
            text = str(name)
            is_secret = _is_secret(text, are_headers=are_headers) or (
                of_secret and text in ("value", "values")
            )
            if is_secret and member is not None:
                shown[_name(text)] = REDACTED
            else:
                inside = _HEADERS.search(text) is not None
                shown[_name(text)] = self.value(member, depth - 1, are_headers=inside)
        return shown

    def _items(self, items: Sequence[Any], depth: int, *, are_headers: bool) -> list[Any]:
        shown: list[Any] = []
        for item in items:
            if len(shown) == AUDIT_MEMBERS_MAX or self._left <= 0:
                return [*shown, f"… and {len(items) - len(shown)} more"]
            shown.append(self.value(item, depth - 1, are_headers=are_headers))
        return shown


def _is_secret(name: str, *, are_headers: bool) -> bool:
    return name.lower() not in _PLAIN_HEADERS if are_headers else _sounds_secret(name)


def _sounds_secret(name: object) -> bool:
    return (
        isinstance(name, str)
        and name not in _HARMLESS_NAME
        and _SECRET_NAME.search(name[:AUDIT_TEXT_CHARS_MAX]) is not None
    )


def _name(name: Any) -> str:
    """A name may be as telling as a value."""
    return _text(str(name), AUDIT_TEXT_CHARS_MAX // 4)


def _digits(value: float) -> str:
    # Python itself refuses to print an int of more than 4,300 digits.
    is_huge = isinstance(value, int) and value.bit_length() > 1_000
    return "a huge number" if is_huge else str(value)


def redacted_text(text: str | None, chars_max: int) -> str | None:
    return None if text is None else _text(text, chars_max)


def _text(text: str, chars_max: int = AUDIT_TEXT_CHARS_MAX) -> str:
    # With some to spare: what is cut in two is not found any more.
    text = harmless_text(text[: 2 * chars_max])
    lower = text.lower()
    if any(mark in lower for mark in _MARKS):
        text = _TOKENS.sub(REDACTED, text)
    if "://" in text:
        text = _USERINFO.sub(f"{REDACTED}@", text)
        text = _QUERY.sub(_without_secret, text)
    return short(text, chars_max)


def _without_secret(found: re.Match[str]) -> str:
    mark, name, _ = found.groups()
    return f"{mark}{name}={REDACTED}" if _QUERY_NAME.search(name) else found[0]
