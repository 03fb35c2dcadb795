"""Jobs in a file: a JSON list, `{"jobs": […]}`, or one JSON object a line.

Lines are read as they are needed, so a file of a million jobs takes little memory; a document is
read whole.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from windlass.cli.exits import BadUsage
from windlass.cli.limits import FILE_BYTES_MAX
from windlass.errors import MalformedBody
from windlass.model.json import strict as strict_json

Job = dict[str, Any]


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """The file, or standard input for `-`."""
    if path == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(path).open("rb") as file:
            yield file
    except OSError as trouble:
        # Not of this file: an error of the network or of a pipe that passes through.
        if trouble.filename is None:
            raise
        raise BadUsage(f"--file: cannot read {path}: {trouble.strerror}") from None


def read_jobs(file: IO[bytes]) -> tuple[int | None, Iterator[Job]]:
    """The jobs, and how many there are. None: it cannot be known before reading."""
    start = file.readline()
    while start and not start.strip():
        start = file.readline()
    if not start:
        return 0, iter(())
    if _is_one_of_many(start):
        total = _count_lines(file)
        return None if total is None else total + 1, _of_lines(start, file)
    jobs = _of_document(start + file.read(FILE_BYTES_MAX))
    return len(jobs), iter(jobs)


def _is_one_of_many(line: bytes) -> bool:
    """Whether the first line is a job by itself."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.keys() != {"jobs"}


def _count_lines(file: IO[bytes]) -> int | None:
    if not file.seekable():
        return None
    here = file.tell()
    count = sum(1 for line in file if line.strip())
    file.seek(here)
    return count


def _of_lines(start: bytes, file: IO[bytes]) -> Iterator[Job]:
    yield _job(_parse(start, "line 1"), "line 1")
    for number, line in enumerate(file, start=2):
        if line.strip():
            yield _job(_parse(line, f"line {number}"), f"line {number}")


def _of_document(raw: bytes) -> list[Job]:
    value = _parse(raw, "it")
    if isinstance(value, dict) and "kind" in value:
        return [value]
    jobs = value.get("jobs") if isinstance(value, dict) else value
    if not isinstance(jobs, list):
        raise BadUsage('--file must hold a JSON list of jobs, {"jobs": […]}, or one job a line')
    return [_job(job, f"#{place}") for place, job in enumerate(jobs)]


def _parse(raw: bytes, where: str) -> Any:
    try:
        return strict_json.parse(raw)
    except MalformedBody as trouble:
        what = trouble.problems[0].detail.removeprefix("the body ")
        raise BadUsage(f"--file: {where} {what}") from None


def _job(value: object, where: str) -> Job:
    if not isinstance(value, dict):
        raise BadUsage(f'--file: {where} is not a job; one looks like {{"kind": "noop"}}')
    return value
