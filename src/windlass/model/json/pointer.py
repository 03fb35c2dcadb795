"""JSON pointers (RFC 6901): where in the input something is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

# A name that is longer than this is the caller's own joke; where it is is plain without its end.
NAME_CHARS_SHOWN: Final = 60
_INDEX: Final = re.compile("0|[1-9][0-9]{0,8}")


def step(name: str) -> str:
    """One step down, to the member `name`."""
    shown = name[:NAME_CHARS_SHOWN]
    return "/" + shown.replace("~", "~0").replace("/", "~1")


def find(value: Any, pointer: str) -> Any:
    """What it leads to; None also where it leads nowhere."""
    for name in pointer.split("/")[1:]:
        if isinstance(value, Mapping):
            value = value.get(name.replace("~1", "/").replace("~0", "~"))
        elif isinstance(value, list) and _INDEX.fullmatch(name):
            value = value[int(name)] if int(name) < len(value) else None
        else:
            return None
    return value
