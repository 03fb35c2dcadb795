"""What each kind says about its input, for the door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from windlass.model.job.submission import InputCheck
from windlass.strategies import builtin as noop
from windlass.strategies import wait
from windlass.strategies.http import input as http_input
from windlass.strategies.python import python

INPUT_CHECKS: Final[Mapping[str, InputCheck]] = {
    "noop": noop.check_input,
    "wait": wait.check_input,
    "http": http_input.check_input,
    "python": python.check_input,
}
