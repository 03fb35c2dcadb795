"""`noop`: does nothing, successfully: for tests, benchmarks, and to join dependencies."""

from __future__ import annotations

from typing import Any, Final

from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Succeeded

_DONE: Final = Succeeded()


def check_input(value: dict[str, Any]) -> list[tuple[str, str]]:
    return []  # whatever it is given


class Noop:
    def perform_now(self, attempt: Attempt) -> Succeeded:
        return _DONE
