"""Stay with a job until it has ended, and tell how it goes.

Promises: the result alone goes to standard output; what is told meanwhile goes to standard error.
The server may be away for a while, as it is while restarting; the wait goes on.
"""

from __future__ import annotations

from typing import Any

from windlass.cli.exits import Exit, Stopped
from windlass.cli.http.away import though_away
from windlass.cli.http.client import Answer, Client, segment
from windlass.cli.limits import (
    POLL_GRACE_SECONDS,
    POLL_SECONDS,
    POLL_WATCHED_SECONDS,
    POLL_WATCHED_SECONDS_MAX,
)
from windlass.cli.options import Format
from windlass.cli.show.job import error_text, tried
from windlass.cli.show.output import say, show_json, show_json_line, show_line, show_value
from windlass.cli.show.progress import Teller, is_watched, telling
from windlass.clock import monotonic
from windlass.model.job.states import is_terminal

EXITS = {"succeeded": Exit.OK, "cancelled": Exit.CANCELLED}


def wait_and_show(client: Client, first: Answer, output: Format, longest: float | None) -> int:
    """Wait for the job of `first`, at most `longest` seconds; show it and say how it ended."""
    answer = wait_for_end(client, first, longest)
    job = answer.value
    match output:
        case "json":
            show_json(answer.text)
        case "jsonl":
            show_json_line(job)
        case "id":
            show_line(job["id"])
        case "table" if job["state"] == "succeeded":
            show_value(job.get("result"))
        case "table":
            pass  # what went wrong is told below
    if job["state"] != "succeeded":
        reason = error_text(job.get("error"))
        say(f"{job['id']} {job['state']}{': ' if reason else ''}{reason}")
    return EXITS.get(job["state"], Exit.FAILED)


def wait_for_end(client: Client, first: Answer, longest: float | None) -> Answer:
    """The job once it is terminal. Raises Stopped with TIMED_OUT when `longest` has passed."""
    answer, job = first, first.value
    begun = monotonic()
    with telling() as tell:
        tell(_progress(job))
        while not is_terminal(job["state"]):
            left = float("inf") if longest is None else longest - (monotonic() - begun)
            if left <= 0:
                raise Stopped(
                    f"{job['id']} is still {job['state']} after {longest:g} s; it goes on without "
                    f"us: windlass job watch {job['id']}",
                    Exit.TIMED_OUT,
                )
            answer = _poll(client, job["id"], min(left, _patience(monotonic() - begun)), tell)
            job = answer.value
            tell(_progress(job))
    return answer


def _patience(waited: float) -> float:
    """How long one poll may take: the whole time, or as long as a person is content with."""
    if not is_watched():
        return POLL_SECONDS
    return min(max(POLL_WATCHED_SECONDS, waited / 4), POLL_WATCHED_SECONDS_MAX)


def _poll(client: Client, job_id: str, poll: float, tell: Teller) -> Answer:
    """One long poll, made again while the server is away."""
    path, seconds = f"/v1/jobs/{segment(job_id)}", poll + POLL_GRACE_SECONDS
    return though_away(lambda: client.get(path, {"wait": f"{poll:.3f}s"}, seconds=seconds), tell)


def _progress(job: dict[str, Any]) -> str:
    spent = tried(job)
    attempt = f", attempt {spent} of {job.get('max_attempts', '?')}" if spent else ""
    return f"{job['id']} {job['state']}{attempt}"
