"""Stay with a job, an execution or an operation until it has ended, and tell how it goes.

Promises: the result alone goes to standard output; what is told meanwhile goes to standard error.
The server may be away for a while, as it is while restarting; the wait goes on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from windlass.cli.exits import Exit, Stopped
from windlass.cli.http.client import Answer, Client, segment
from windlass.cli.limits import (
    AWAY_SECONDS_MAX,
    POLL_GRACE_SECONDS,
    POLL_SECONDS,
    POLL_WATCHED_SECONDS,
    POLL_WATCHED_SECONDS_MAX,
    RETRY_PAUSE_SECONDS,
)
from windlass.cli.options import Format
from windlass.cli.show.job import error_text, tried
from windlass.cli.show.operation import sentence
from windlass.cli.show.output import say, show_json, show_json_line, show_line, show_value
from windlass.cli.show.progress import Teller, is_watched, telling
from windlass.clock import monotonic
from windlass.model.cluster.operation import ENDED
from windlass.model.job.states import is_terminal

EXITS: Final = {"succeeded": Exit.OK, "cancelled": Exit.CANCELLED}
EXECUTION_ENDED: Final = frozenset(("succeeded", "failed", "cancelled"))
# Takes the execution as it is, and the longest time; gives it as it ended.
Wait = Callable[[Client, Answer, float | None], Answer]


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
        tell(_job_progress(job))
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
            tell(_job_progress(job))
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


def _job_progress(job: dict[str, Any]) -> str:
    spent = tried(job)
    attempt = f", attempt {spent} of {job.get('max_attempts', '?')}" if spent else ""
    return f"{job['id']} {job['state']}{attempt}"


def wait_and_show_execution(
    client: Client,
    first: Answer,
    output: Format,
    longest: float | None,
    wait: Wait | None = None,
) -> int:
    """Wait for the execution of `first`, at most `longest` seconds; show how it ended."""
    answer = (wait or wait_for_execution)(client, first, longest)
    execution = answer.value
    match output:
        case "json":
            show_json(answer.text)
        case "jsonl":
            show_json_line(execution)
        case "id":
            show_line(execution["id"])
        case "table" if execution["state"] == "succeeded":
            show_value(execution.get("output"))
        case "table":
            pass  # what went wrong is told below
    if execution["state"] != "succeeded":
        reason = error_text(execution.get("error"))
        say(f"{execution['id']} {execution['state']}{': ' if reason else ''}{reason}")
    return EXITS.get(execution["state"], Exit.FAILED)


def wait_for_execution(client: Client, first: Answer, longest: float | None) -> Answer:
    """The execution once it has ended. Raises Stopped with TIMED_OUT after `longest` seconds."""
    answer, execution = first, first.value
    begun = monotonic()
    with telling() as tell:
        tell(_execution_progress(execution))
        while execution["state"] not in EXECUTION_ENDED:
            left = left_of(execution, begun, longest)
            poll = min(left, _patience(monotonic() - begun))
            answer = though_away(partial(ask, client, execution["id"], poll), tell)
            execution = answer.value
            tell(_execution_progress(execution))
    return answer


def left_of(execution: Mapping[str, Any], begun: float, longest: float | None) -> float:
    """How many seconds more to wait. Raises Stopped when there are none."""
    if longest is None:
        return float("inf")
    left = longest - (monotonic() - begun)
    if left <= 0:
        raise Stopped(
            f"{execution['id']} is still {execution['state']} after {longest:g} s; it goes "
            f"on without us: windlass execution watch {execution['id']}",
            Exit.TIMED_OUT,
        )
    return left


def ask(client: Client, execution_id: str, poll: float) -> Answer:
    """One long poll."""
    path = f"/v1/executions/{segment(execution_id)}"
    return client.get(path, {"wait": f"{poll:.3f}s"}, seconds=poll + POLL_GRACE_SECONDS)


def _execution_progress(execution: dict[str, Any]) -> str:
    counts = execution.get("counts") or {}
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return f"{execution['id']} {execution['state']}{': ' if told else ''}{told}"


def until_ended(client: Client, first: Answer, longest: float = math.inf) -> Answer:
    """The operation at its end. Raises Stopped with TIMED_OUT when `longest` has passed."""
    answer, operation = first, first.value
    path = f"/v1/operations/{segment(operation['id'])}"
    begun = monotonic()
    with telling() as tell:
        while operation["phase"] not in ENDED:
            tell(sentence(operation))
            waited = monotonic() - begun
            if waited >= longest:
                raise Stopped(
                    f"{operation['id']} is still {operation['phase']} after {longest:g} s; it goes "
                    f"on without us: windlass operation watch {operation['id']}",
                    Exit.TIMED_OUT,
                )
            time.sleep(min(_rest(waited), longest - waited))
            answer = though_away(lambda: client.get(path), tell)
            operation = answer.value
        tell(sentence(operation))
    return answer


def _rest(waited: float) -> float:
    """The longer it has taken, the less does a moment matter."""
    return min(max(POLL_WATCHED_SECONDS, waited / 10), POLL_WATCHED_SECONDS_MAX)


def though_away(ask: Callable[[], Answer], tell: Callable[[str], None]) -> Answer:
    """The answer; asked again while nobody answers. Raises Stopped when that takes too long."""
    away_since: float | None = None
    while True:
        try:
            return ask()
        except Stopped as stop:
            away_since = away_since or monotonic()
            away = monotonic() - away_since
            if stop.code != Exit.UNREACHABLE or away > AWAY_SECONDS_MAX:
                raise
            tell("the server does not answer; trying again")
            time.sleep(RETRY_PAUSE_SECONDS)
