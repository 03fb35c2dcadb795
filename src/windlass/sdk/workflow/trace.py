"""What a workflow function said so far: its steps in order, and the blocks they stand in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from windlass.limits import STEP_ID_CHARS_MAX
from windlass.sdk.workflow.cannot_trace import CannotTrace
from windlass.sdk.workflow.tracing import TRACE

if TYPE_CHECKING:
    from windlass.sdk.workflow.block import Block
    from windlass.sdk.workflow.step import Step

_STRANGE: Final = re.compile(r"[^A-Za-z0-9_]+")


class Trace:
    def __init__(self, workflow: str) -> None:
        self.workflow = workflow
        self.steps: list[Step[Any]] = []
        self.block: Block | None = None  # the innermost that is open
        self.concurrency: dict[str, Any] | None = None

    def add(self, step: Step[Any]) -> None:
        step.place = len(self.steps)
        self.steps.append(step)

    def free_id(self, wish: str) -> str:
        """An id like the wish; numbered when it is taken."""
        plain = _STRANGE.sub("_", wish).strip("_") or "step"
        plain = f"_{plain}" if plain[0].isdigit() else plain
        taken = {step.id for step in self.steps}
        made, number = plain[:STEP_ID_CHARS_MAX], 1
        while made in taken:
            number += 1
            end = f"_{number}"
            made = plain[: STEP_ID_CHARS_MAX - len(end)] + end
        return made


def current_trace(what: str) -> Trace:
    """Raises CannotTrace outside of a workflow function."""
    found = TRACE.get()
    if found is None:
        raise CannotTrace(f"{what} belongs inside a function with @app.workflow")
    return found
