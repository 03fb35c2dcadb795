"""Pages: `{"data": […], "next_cursor": …}`. A cursor is opaque and good for its own list only."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID

from windlass.api.query import Param
from windlass.model.submission import read_name

CURSOR_CHARS_MAX: Final = 400
_WRONG: Final = "is not a cursor of this list; take next_cursor of its last page as it was given"


def show_cursor(noun: str, place: str) -> str:
    return urlsafe_b64encode(f"{noun}:{place}".encode()).decode().rstrip("=")


def _place(noun: str, text: str) -> str:
    if not 1 <= len(text) <= CURSOR_CHARS_MAX:
        raise ValueError(_WRONG)
    try:
        found = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, ValueError):
        raise ValueError(_WRONG) from None
    # Base64 has several spellings of the same bytes; only ours is a cursor.
    if not found.startswith(f"{noun}:") or show_cursor(noun, found[len(noun) + 1 :]) != text:
        raise ValueError(_WRONG)
    return found[len(noun) + 1 :]


def cursor_param(noun: str, read: Callable[[str], Any]) -> Param:
    """A cursor whose place is read by `read` (ValueError: none of ours)."""

    def read_cursor(text: str) -> Any:
        place = _place(noun, text)
        try:
            return read(place)
        except ValueError:
            raise ValueError(_WRONG) from None

    return Param(
        name="cursor",
        read=read_cursor,
        description="`next_cursor` of the page before",
        schema={"type": "string"},
    )


def id_cursor(noun: str) -> Param:
    return cursor_param(noun, lambda text: UUID(hex=text))


def name_cursor(noun: str) -> Param:
    return cursor_param(noun, read_name)


def page(data: Sequence[Any], next_cursor: str | None) -> dict[str, Any]:
    return {"data": data, "next_cursor": next_cursor}
