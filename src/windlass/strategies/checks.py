"""What each kind says about its input, for the door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from windlass.model.submission import InputCheck
from windlass.strategies import http_input, noop, python, wait

INPUT_CHECKS: Final[Mapping[str, InputCheck]] = {
    "noop": noop.check_input,
    "wait": wait.check_input,
    "http": http_input.check_input,
    "python": python.check_input,
}
