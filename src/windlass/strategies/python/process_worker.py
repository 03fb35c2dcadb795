"""The process side of isolated tasks: reads a JSON line, performs the task, writes a JSON line.

What the task says while it runs goes before that, in lines of its own. The first line says that it
is ready. Nothing is begun for a node that is gone.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TextIO

import msgspec

from windlass.model.job.outcome import Outcome
from windlass.model.job.running import Facts
from windlass.strategies.python.apps import load_tasks
from windlass.strategies.python.perform import failed, perform, perform_coroutine, to_line
from windlass.strategies.python.running import RunningIsolated
from windlass.strategies.python.task import Task
from windlass.telemetry.logs import configure_logs, hear_app

_PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    app, node_pid, log_settings = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    _die_with_parent()
    _leave_if_orphaned(node_pid)  # it may have died before the kernel knew what to do then
    questions, answers = _take_pipes()
    if log_settings:  # none: the node's logs are somebody else's
        configure_logs(*log_settings)
    tasks = load_tasks(app)
    hear_app()
    say = _speaker(answers)
    say(json.dumps({"ready": True}))
    for line in questions:
        _leave_if_orphaned(node_pid)
        say(to_line(_perform(tasks, json.loads(line), say)))


def _speaker(answers: TextIO) -> Callable[[str], None]:
    """A task may have threads of its own that say something: whole lines, one after the other."""
    lock = threading.Lock()

    def say(line: str) -> None:
        with lock:
            answers.write(line + "\n")
            answers.flush()

    return say


def _take_pipes() -> tuple[TextIO, TextIO]:
    """The pipes are ours alone: what a task prints goes to the node's log, and it reads nothing."""
    questions = os.fdopen(os.dup(0), "r", encoding="utf-8", newline="\n")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return questions, answers


def _perform(
    tasks: dict[str, Task], question: dict[str, Any], say: Callable[[str], None]
) -> Outcome:
    task = tasks[question["task"]]
    running = RunningIsolated(msgspec.convert(question["facts"], Facts), say)
    try:
        answer = perform(task, running, question["args"], question["kwargs"])
        if isinstance(answer, Coroutine):
            return asyncio.run(perform_coroutine(task, running, answer))
        return answer
    except BaseException as raised:
        # As in a thread: whatever it is, it ends the task and not the process.
        return failed(RuntimeError(f"the task raised {type(raised).__name__}: {raised}"))
    finally:
        running.end()


def _die_with_parent() -> None:
    """A node killed with -9 cannot clean up; the kernel does it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _leave_if_orphaned(node_pid: int) -> None:
    if os.getppid() != node_pid:
        sys.exit("the node that started this process is gone")


if __name__ == "__main__":
    main()
