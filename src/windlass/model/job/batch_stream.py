"""A streaming parser of a batch: its jobs, one by one out of its bytes.

A batch may be large, and parsed it is twenty times as large. So it is never parsed whole: a window
of text moves over the bytes, and what is in memory is the job at hand.

    {"jobs": [ {…}, {…}, {…}, … ]}
               [ window    ]
                      ^ a job that it cuts: the window moves here, and grows if that is not enough

What is taken and refused is the same as for the whole (see model.json.strict), and one job may be
as large as one that is sent alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from json import JSONDecodeError
from typing import Any, Final

from windlass.errors import InvalidInput, MalformedBody
from windlass.limits import BATCH_JOBS_MAX, BODY_BYTES_MAX, INPUT_BYTES_MAX
from windlass.model.json import strict as strict_json
from windlass.model.json.pointer import step

WINDOW_BYTES: Final = 256 * 1024
# Commas and brackets in the text of one job: no input that may be stored holds more values.
_VALUES_MAX: Final = 3 * INPUT_BYTES_MAX // 2
_SPACE: Final = re.compile(r"[ \t\n\r]*")
# A character takes up to four bytes, so up to three of them may stand at the end of a window.
_CUT_BYTES: Final = 3
_NOT_JOBS: Final = 'must be a list of jobs: {"jobs": [{"kind": …}, …]}'


def jobs_in(pieces: Iterable[bytes]) -> Iterator[Any]:
    """Each job of `{"jobs": […]}`. Raises MalformedBody or InvalidInput where it is wrong.

    `pieces` are the body in order. Whoever gives them one by one can let them go.
    """
    window = _Window(iter(pieces))
    if not window.takes("{"):
        window.value()  # tell first that it is no JSON, if it is none
        raise InvalidInput.at("/jobs", _NOT_JOBS)
    if window.takes("}"):
        raise InvalidInput.at("/jobs", _NOT_JOBS)
    _name(window, is_first=True)
    if not window.takes("["):
        raise InvalidInput.at("/jobs", _NOT_JOBS)
    count = 0
    if not window.takes("]"):
        while True:
            count += 1
            if count > BATCH_JOBS_MAX:
                detail = f"holds more than {BATCH_JOBS_MAX} jobs; a batch has 1 to {BATCH_JOBS_MAX}"
                raise InvalidInput.at("/jobs", detail)
            yield window.value()
            if window.takes("]"):
                break
            window.expect(",")
    if count == 0:
        raise InvalidInput.at("/jobs", f"holds 0 jobs; a batch has 1 to {BATCH_JOBS_MAX}")
    if window.takes(","):
        _name(window, is_first=False)
    window.expect("}")
    window.expect_end()


def _name(window: _Window, *, is_first: bool) -> None:
    name = window.value()
    if not isinstance(name, str):
        raise window.malformed("a name in quotes is missing")
    window.expect(":")
    if name != "jobs":
        raise InvalidInput.at(step(name), "unknown field; the only one is jobs")
    if not is_first:
        raise window.malformed("the key 'jobs' stands twice in one object")


class _Window:
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = (
            b""  # from the window's beginning on; behind it there may be more than it shows
        )
        self._start = 0  # of the window, in bytes
        self._size = WINDOW_BYTES
        self._text, self._at = "", 0  # in characters
        self._is_all = False  # True: it reaches the end of the body
        self._read()

    def takes(self, character: str) -> bool:
        """Whether it comes next; if so it is behind us."""
        if self._next() != character:
            return False
        self._at += 1
        return True

    def expect(self, character: str) -> None:
        if not self.takes(character):
            raise self.malformed(f"{character!r} is missing")

    def expect_end(self) -> None:
        if self._next():
            raise self.malformed("something stands behind the end")

    def value(self) -> Any:
        """The value that comes next."""
        self._next()
        while True:
            try:
                value, end = strict_json.DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise MalformedBody.at("", strict_json.too_deep()) from None
            except ValueError as problem:
                if not self._move():
                    detail = problem.msg if isinstance(problem, JSONDecodeError) else str(problem)
                    raise self.malformed(detail) from None
                continue
            # What ends with the window may go on behind it: 12|34.
            if end == len(self._text) and self._move():
                continue
            self._at = end
            self._size = WINDOW_BYTES
            return value

    def malformed(self, detail: str) -> InvalidInput:
        where = self._start + self._bytes_before()
        text = f"the body is not JSON that can be taken: {detail}, at byte {where} or after it"
        return MalformedBody.at("", text)

    def _next(self) -> str:
        """The next character that is no space; none at the end."""
        while True:
            found = _SPACE.match(self._text, self._at)
            assert found is not None, "no space is space enough"
            self._at = found.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if self._is_all:
                return ""
            self._move()

    def _move(self) -> bool:
        """Begin the window where we are; if it begins there already, let it grow. False: it is as
        large as it may be.
        """
        if self._is_all:
            return False
        if self._at:
            gone = self._bytes_before()
            self._start += gone
            self._held = self._held[gone:]
        elif self._size >= BODY_BYTES_MAX:
            return False
        else:
            self._size = min(2 * self._size, BODY_BYTES_MAX)
        self._read()
        if self._size == BODY_BYTES_MAX and sum(map(self._text.count, ",[{")) > _VALUES_MAX:
            raise self.malformed("one job holds more values than any that can be stored")
        return True

    def _bytes_before(self) -> int:
        before = self._text[: self._at]
        return len(before) if before.isascii() else len(before.encode())

    def _read(self) -> None:
        held, size = [self._held], len(self._held)
        while size <= self._size and (piece := next(self._pieces, None)) is not None:
            held.append(piece)
            size += len(piece)
        self._held = b"".join(held) if len(held) > 1 else self._held
        self._is_all = size <= self._size
        shown = self._held[: self._size]
        try:
            self._text = shown.decode()
        except UnicodeDecodeError as problem:
            if self._is_all or problem.start < len(shown) - _CUT_BYTES:
                reason = f"the body is not UTF-8: {problem.reason}"
                raise MalformedBody.at("", reason) from None
            self._text = shown[: problem.start].decode()
        self._at = 0
