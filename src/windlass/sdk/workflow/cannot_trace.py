"""What cannot be written down as a workflow, with the line that tried and what to write instead."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from windlass.errors import WindlassError

_HERE: Final = str(Path(__file__).parents[1])
# Their frames stand between a line of the user and ours.
_BETWEEN: Final = ("contextlib.py", "functools.py")


class CannotTrace(WindlassError):
    """A workflow function did something that only a running program can do."""

    code = "cannot_trace"

    def __init__(self, detail: str, *, file: str | None = None, line: int | None = None) -> None:
        if file is None:
            file, line = where()
        self.detail, self.file, self.line = detail, file, line
        super().__init__(f"{file}:{line}: {detail}")

    @classmethod
    def of(cls, function: Callable[..., Any], detail: str) -> CannotTrace:
        """About a function as a whole: the line where it begins."""
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is None:
            return cls(detail)
        return cls(detail, file=code.co_filename, line=code.co_firstlineno)


def where() -> tuple[str, int]:
    """File and line of the nearest frame that is not the SDK's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _is_ours(file: str) -> bool:
    return file.startswith((_HERE, "<")) or file.endswith(_BETWEEN)
