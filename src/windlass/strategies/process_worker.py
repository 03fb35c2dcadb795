"""The process side of isolated tasks: reads a JSON line, performs the task, writes a JSON line."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Any, Final, TextIO

from windlass.model.outcome import Outcome
from windlass.strategies.answer import failed, perform, perform_async, to_line
from windlass.strategies.task import Task, load_tasks

_PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    _die_with_parent()
    questions, answers = _take_pipes()
    tasks = load_tasks(sys.argv[1])
    for line in questions:
        answers.write(to_line(_perform(tasks, json.loads(line))) + "\n")
        answers.flush()


def _take_pipes() -> tuple[TextIO, TextIO]:
    """The pipes are ours alone: what a task prints goes to the node's log, and it reads nothing."""
    questions = os.fdopen(os.dup(0), "r", encoding="utf-8", newline="\n")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return questions, answers


def _perform(tasks: dict[str, Task], question: dict[str, Any]) -> Outcome:
    try:
        function = tasks[question["task"]].function
        answer = perform(function, question["args"], question["kwargs"])
        if isinstance(answer, Coroutine):
            return asyncio.run(perform_async(lambda: answer, [], {}))
        return answer
    except (SystemExit, KeyboardInterrupt) as raised:
        # As in a thread: it ends the task, not the process.
        return failed(RuntimeError(f"the task raised {type(raised).__name__}: {raised}"))


def _die_with_parent() -> None:
    """A node killed with -9 cannot clean up; the kernel does it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
