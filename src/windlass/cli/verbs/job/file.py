"""`windlass job submit --file`: many jobs from a file, in batches that are taken whole or not.

The file is a JSON list, `{"jobs": […]}`, or one JSON object a line (JSON Lines). Lines are read as
they are needed, so a file of a million jobs takes little memory; a document is read whole.

Promises: jobs are submitted in the file's order; a chunk whose answer was lost is not submitted
twice; with --idempotency-key the whole command can be run again and submits only what is missing.
A place such as "#3" in depends_on counts through the whole file, whatever the chunks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from windlass.cli.exits import BadUsage, Exit, Stopped
from windlass.cli.http.client import Client
from windlass.cli.limits import BATCH_CALL_SECONDS, CHUNK_BYTES_MAX, FILE_BYTES_MAX
from windlass.cli.options import Reading
from windlass.cli.show.output import compact, say, show_json, show_json_line, show_line
from windlass.cli.show.progress import progress_bar
from windlass.errors import MalformedBody
from windlass.limits import BATCH_JOBS_MAX
from windlass.model.json import strict as strict_json

Job = dict[str, Any]


def submit_file(reading: Reading, path: str, key: str | None) -> int:
    """Submit every job of the file; `key` makes it harmless to do so again."""
    ids: list[str] = []
    key = key or str(uuid4())
    with reading.client() as client, opened(path) as file:
        total, jobs = read_jobs(file)
        with progress_bar("submitting", total) as advance:
            for number, chunk in enumerate(chunks(jobs)):
                new = _submit(client, chunk, ids, f"{key}:{number}")
                ids += new
                advance(len(new))
                _show_ids(new, reading.output)
    if not ids:
        raise BadUsage(f"--file: {path} holds no jobs")
    if reading.output == "json":
        show_json(compact({"ids": ids}))
    elif reading.output == "table":
        some = "1 job" if len(ids) == 1 else f"{len(ids):,} jobs"
        show_line(f"{some} submitted, {ids[0]} to {ids[-1]}")
    return Exit.OK


def chunks(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    """Runs of jobs within the server's limits on count and bytes."""
    chunk: list[Job] = []
    size = 0
    for job in jobs:
        job_bytes = len(json.dumps(job))
        if chunk and (len(chunk) == BATCH_JOBS_MAX or size + job_bytes > CHUNK_BYTES_MAX):
            yield chunk
            chunk, size = [], 0
        chunk.append(job)
        size += job_bytes
    if chunk:
        yield chunk


def renumbered(job: Job, ids: list[str]) -> Job:
    """`job` with the places of its parents as the server counts them: within this chunk."""
    parents = job.get("depends_on")
    if not isinstance(parents, list):
        return job
    return {**job, "depends_on": [_renumbered_parent(parent, ids) for parent in parents]}


def _renumbered_parent(parent: object, ids: list[str]) -> object:
    if not (isinstance(parent, str) and parent.startswith("#") and parent[1:].isdecimal()):
        return parent
    place = int(parent[1:])
    return ids[place] if place < len(ids) else f"#{place - len(ids)}"


def _submit(client: Client, chunk: list[Job], ids: list[str], key: str) -> list[str]:
    body = {"jobs": [renumbered(job, ids) for job in chunk]}
    try:
        answer = client.post("/v1/jobs/batch", body, key, BATCH_CALL_SECONDS)
    except Stopped as stop:
        first, last = len(ids), len(ids) + len(chunk) - 1
        say(f"{first:,} jobs were submitted, and none of #{first} to #{last}, where it stopped")
        if stop.code != Exit.USAGE:
            again = key.rpartition(":")[0]
            say(f"  to go on later, run the same command with --idempotency-key {again}")
        raise
    new: list[str] = answer.value["ids"]
    return new


def _show_ids(ids: list[str], output: str) -> None:
    """Ids at once, chunk by chunk: whoever reads them can begin."""
    for job_id in ids:
        if output == "id":
            show_line(job_id)
        elif output == "jsonl":
            show_json_line({"id": job_id})


# -- the file ------------------------------------------------------------------------------------


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
