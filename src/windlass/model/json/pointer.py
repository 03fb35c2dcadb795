"""JSON pointers (RFC 6901): where in the input something is."""

from __future__ import annotations

from typing import Final

# A name that is longer than this is the caller's own joke; where it is is plain without its end.
NAME_CHARS_SHOWN: Final = 60


def step(name: str) -> str:
    """One step down, to the member `name`."""
    shown = name[:NAME_CHARS_SHOWN]
    return "/" + shown.replace("~", "~0").replace("/", "~1")
