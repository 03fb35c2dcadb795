"""Whole numbers (integers) of JSON: 5.0 is one, true is not."""

from __future__ import annotations


def whole(value: object) -> int | None:
    """The whole number, also one that is written 5.0: JSON does not tell them apart. None: it is
    no whole number, or true or false, which Python takes for one.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_whole(value: object, most: int, least: int = 1) -> int:
    """Raises ValueError that says what is allowed."""
    found = whole(value)
    if found is None or not least <= found <= most:
        raise ValueError(f"must be a whole number from {least} to {most}")
    return found
