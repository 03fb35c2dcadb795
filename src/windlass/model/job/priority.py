"""The four levels of urgency, as words outside and numbers inside."""

from __future__ import annotations

from typing import Final, Literal

Priority = Literal["low", "normal", "high", "critical"]
NAMES: Final[tuple[Priority, ...]] = ("low", "normal", "high", "critical")
NUMBERS: Final[dict[str, int]] = {name: number for number, name in enumerate(NAMES)}
