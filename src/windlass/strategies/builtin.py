"""The built-in kinds: what each says about its input, and `noop`.

`noop` does nothing, successfully: for tests, benchmarks, and to join dependencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Succeeded
from windlass.model.job.submission import InputCheck
from windlass.model.workflow.step_kinds import PERFORMED_KINDS, complete
from windlass.strategies import wait
from windlass.strategies.http import input as http_input
from windlass.strategies.python import python

_DONE: Final = Succeeded()


def check_input(value: dict[str, Any]) -> list[tuple[str, str]]:
    return []  # whatever it is given


class Noop:
    def perform_now(self, attempt: Attempt) -> Succeeded:
        return _DONE


INPUT_CHECKS: Final[Mapping[str, InputCheck]] = complete(
    PERFORMED_KINDS,
    {
        "noop": check_input,
        "wait": wait.check_input,
        "http": http_input.check_input,
        "python": python.check_input,
    },
)
