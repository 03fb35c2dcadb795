"""The subprocess that evaluates heavy expressions and schemas (see evaluate.evaluator).

    in    a question     out    its answer     each with its length before it

It has less of a claim on the processor than the node, and a bound on its memory; when it dies of a
question, the node answers that one itself.
"""

from __future__ import annotations

import os
import resource
import socket
import struct
import sys
from pathlib import Path
from time import sleep
from typing import BinaryIO, Final

from windlass.limits import EVALUATOR_BYTES_MAX, EVALUATOR_NICENESS
from windlass.model.expression.evaluation import answer

LENGTH: Final = struct.Struct(">I")


def lower_priority(niceness: int) -> None:
    """Have less of a claim on the processor than the node. Linux may share it out by sessions first
    (sched(7), autogroup): then it is the session's niceness that counts, and our own means nothing.
    """
    os.nice(niceness)
    for _ in range(5):
        try:
            Path("/proc/self/autogroup").write_text(str(niceness))
        except BlockingIOError:  # asked for too often, by whomever
            sleep(0.15)
        except OSError:  # there is no such thing here
            return
        else:
            return


def limit_memory(bytes_max: int) -> None:
    """Linux alone keeps to it: others refuse the limit, or take it and count nothing."""
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (bytes_max, bytes_max))


def main() -> None:
    lower_priority(EVALUATOR_NICENESS)
    limit_memory(EVALUATOR_BYTES_MAX)
    with socket.socket(fileno=os.dup(0)) as node, node.makefile("rb") as questions:
        while (question := _frame(questions)) is not None:
            said = answer(question)
            node.sendall(LENGTH.pack(len(said)) + said)


def _frame(questions: BinaryIO) -> bytes | None:
    """None: the node is gone."""
    head = questions.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    found = questions.read(length)
    return found if len(found) == length else None


if __name__ == "__main__":
    main()
