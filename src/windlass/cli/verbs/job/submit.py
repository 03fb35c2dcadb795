"""`windlass job submit`: one job from options, or many from a file."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from windlass.cli.exits import BadUsage, Exit
from windlass.cli.http.client import Answer
from windlass.cli.http.listing import show_one
from windlass.cli.http.wait import JOB, wait_and_show
from windlass.cli.options import READ, Reading
from windlass.cli.show.job import sentence
from windlass.cli.show.output import show_line
from windlass.cli.values import seconds
from windlass.cli.verbs.job.file import submit_file
from windlass.cli.verbs.job.submission import AS_TYPED, Submission


def submit(
    kind: str | None = None,
    /,
    *,
    job: Submission = AS_TYPED,
    wait: Annotated[bool | str, Parameter(metavar="[=DURATION]", requires_equals=True)] = False,
    file: Annotated[str | None, Parameter(metavar="FILE|-", allow_leading_hyphen=True)] = None,
    idempotency_key: Annotated[str | None, Parameter(metavar="TEXT")] = None,
    reading: Reading = READ,
) -> int:
    """Submit a job; or with --file as many as the file holds.

    Prints the job. With --wait it prints the job's result, and the exit code
    says how it ended: 0 succeeded, 1 failed, 7 not finished in time, 8 cancelled.

    Parameters
    ----------
    kind
        What sort of job: noop, wait, http, python, …
    wait
        Stay until the job has ended; with =20s no longer than that.
    file
        Many jobs: a JSON list, or one JSON object a line.
        "#3" in depends_on is the file's fourth job.
    idempotency_key
        Submitting again with this key gives the same job.
    """
    if file is not None:
        if kind is not None or job != AS_TYPED or wait is not False:
            raise BadUsage("--file says all about its jobs; give it without a kind and job options")
        return submit_file(reading, file, idempotency_key)
    if kind is None:
        raise BadUsage("say what kind of job, such as: windlass job submit noop")
    longest = seconds("--wait", wait) if isinstance(wait, str) else None
    with reading.client() as client:
        answer = client.post("/v1/jobs", job.body(kind, client), idempotency_key)
        if wait is not False:
            return wait_and_show(JOB, client, answer, reading.output, longest)
    if reading.output == "table":
        show_line(sentence(answer.value) + _if_old(answer))
    else:
        show_one(reading, answer, ())
    return Exit.OK


def _if_old(answer: Answer) -> str:
    """That the job shown is not a new one, and why."""
    if answer.headers.get("idempotent-replayed") == "true":
        return ", submitted before with this idempotency key"
    if answer.headers.get("windlass-existing") == "true":
        return ", submitted before with this --key"
    return ""
