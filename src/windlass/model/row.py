"""A database row, read by column name: all that the model knows of a driver."""

from __future__ import annotations

from typing import Any, Protocol


class Row(Protocol):
    def __getitem__(self, name: str, /) -> Any: ...
