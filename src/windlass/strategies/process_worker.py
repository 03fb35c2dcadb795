"""The process side of isolated tasks: reads a JSON line, performs the task, writes a JSON line."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
from traceback import format_exc
from typing import Any, Final

from windlass.model.harmless import harmless_json
from windlass.strategies.task import Task, load_tasks

_PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    _die_with_parent()
    # The pipe is ours alone: what a task prints goes to the node's log.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    tasks = load_tasks(sys.argv[1])
    for line in sys.stdin:
        answers.write(_answer(tasks, json.loads(line)) + "\n")
        answers.flush()


def _answer(tasks: dict[str, Task], question: dict[str, Any]) -> str:
    try:
        task = tasks[question["task"]]
        value = task.function(*question["args"], **question["kwargs"])
        if task.is_async:
            value = asyncio.run(value)
        return harmless_json({"result": value})
    except Exception as raised:
        error = {"cause": type(raised).__name__, "message": str(raised), "traceback": format_exc()}
        return harmless_json({"error": error})


def _die_with_parent() -> None:
    """A node killed with -9 cannot clean up; the kernel does it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
