"""The body of a job: what `.enqueue` and `.map` send, and in which batches.

Owns: the job object of a task, as POST /v1/jobs and windlass.enqueue take it.
Promises: jobs of one `.map` are made in one round trip, all or none, unless they are more than a
batch may hold: then in several, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from windlass.limits import BATCH_BODY_BYTES_MAX, BATCH_JOBS_MAX

Job = dict[str, Any]


def job_of(given: bytes, fields: Mapping[str, Any]) -> Job:
    """`given`: its input, as JSON that was checked."""
    return {"kind": "python", "input": msgspec.Raw(given), **fields}


def batches_of(inputs: list[bytes], make: Callable[[bytes], Job]) -> Iterator[list[Job]]:
    """As few as the API allows. `make` gives the job of an input; beside it all are of one size."""
    if not inputs:
        return
    # What the jobs of a batch say beside their inputs, and the comma.
    beside = len(msgspec.json.encode(make(inputs[0]))) - len(inputs[0]) + 1
    room = BATCH_BODY_BYTES_MAX - 100  # for {"jobs":[]}
    if len(inputs) <= BATCH_JOBS_MAX and sum(map(len, inputs)) + beside * len(inputs) <= room:
        yield [make(given) for given in inputs]
        return
    begin, size = 0, 0
    for index, given in enumerate(inputs):
        more = len(given) + beside
        if index - begin == BATCH_JOBS_MAX or (size and size + more > room):
            yield [make(one) for one in inputs[begin:index]]
            begin, size = index, 0
        size += more
    if begin < len(inputs):
        yield [make(one) for one in inputs[begin:]]
