"""The process side of large bodies: reads jobs out of bytes, writes them as drafts.

A thread would not do: it has the interpreter's lock while it parses, and the node's loop waits for
that. This process has a lock of its own, less of a claim on the processor, and a bound on its
memory; when it dies of a body, nothing else does. It leaves by itself when nobody asks.

    in    a question, pieces of the body, an empty piece            each with its length before it
    out   drafts, drafts, …, and the end or what is wrong           each with a letter before it
"""

from __future__ import annotations

import os
import select
import struct
from collections import deque
from collections.abc import Iterator
from datetime import datetime
from typing import Any, BinaryIO, Final

import msgspec

from windlass.engine.evaluate.process import limit_memory, lower_priority
from windlass.errors import InvalidInput, MalformedBody
from windlass.limits import BATCH_READER_BYTES_MAX, BATCH_READER_IDLE_SECONDS
from windlass.model.job.batch_stream import jobs_in
from windlass.model.job.draft import Draft
from windlass.model.job.submission import SubmissionContext, check_order, read_job, read_jobs
from windlass.model.json import strict as strict_json
from windlass.strategies.builtin import INPUT_CHECKS

LENGTH: Final = struct.Struct(">I")
DRAFTS, REFUSED, MALFORMED, END = b"d", b"r", b"m", b"e"
# Drafts of about so many bytes go at once: a bite that the node's loop takes in a millisecond.
_FRAME_BYTES: Final = 256 * 1024
_NICENESS: Final = 10


class Question(msgspec.Struct, kw_only=True):
    kinds: list[str]  # what may be asked for
    max_attempts: int
    owner: str | None
    now: datetime
    is_batch: bool  # False: one job, as POST /v1/jobs takes it


def main() -> None:
    lower_priority(_NICENESS)
    limit_memory(BATCH_READER_BYTES_MAX)
    # What anything prints goes to the node's log.
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while select.select([questions], [], [], BATCH_READER_IDLE_SECONDS)[0]:
        asked = _frame(questions)
        if asked is None:
            return
        question = msgspec.msgpack.decode(asked, type=Question)
        body: deque[bytes] = deque()
        while piece := _frame(questions):
            body.append(piece)
        if piece is None:
            return  # the caller went away in the middle
        for letter, payload in _answer(question, body):
            answers.write(letter + LENGTH.pack(len(payload)))
            answers.write(payload)
        body.clear()
        answers.flush()


def _frame(pipe: BinaryIO) -> bytes | None:
    """None: nobody is there any more."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    found = pipe.read(length)
    return found if len(found) == length else None


def _answer(question: Question, body: deque[bytes]) -> Iterator[tuple[bytes, bytes]]:
    context = SubmissionContext(
        # The node checks those that only it knows.
        kinds={kind: INPUT_CHECKS.get(kind, _unchecked) for kind in question.kinds},
        max_attempts=question.max_attempts,
        owner=question.owner,
    )
    encode = msgspec.msgpack.Encoder().encode
    try:
        parents: list[tuple[int, ...]] = []
        some: list[Draft] = []
        size = 0
        for draft in _drafts(question, context, body):
            some.append(draft)
            parents.append(draft.depends_on_places)
            size += len(draft.input) + 100
            if size >= _FRAME_BYTES:
                yield DRAFTS, encode(some)
                some, size = [], 0
        check_order(parents)
        yield DRAFTS, encode(some)
    except InvalidInput as trouble:
        letter = MALFORMED if isinstance(trouble, MalformedBody) else REFUSED
        yield letter, encode(trouble.problems)
    else:
        yield END, b""


def _drafts(question: Question, context: SubmissionContext, body: deque[bytes]) -> Iterator[Draft]:
    if question.is_batch:
        yield from read_jobs(jobs_in(_let_go(body)), context, question.now)
    else:
        yield read_job(strict_json.parse(b"".join(body)), context, question.now)


def _let_go(pieces: deque[bytes]) -> Iterator[bytes]:
    """What was read is in memory no longer: the node has it by then."""
    while pieces:
        yield pieces.popleft()


def _unchecked(_input: dict[str, Any]) -> list[tuple[str, str]]:
    return []


if __name__ == "__main__":
    main()
