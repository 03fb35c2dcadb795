"""Wait for a job, an execution or an operation to end (long polling), and show how it goes.

Promises: the result alone goes to standard output; what is told meanwhile goes to standard error.
The server may be away for a while, as it is while restarting; the wait goes on. A wait that takes
too long raises Stopped with TIMED_OUT and says how to go on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from windlass.cli.exits import Exit, Stopped
from windlass.cli.http.client import Answer, Client, segment
from windlass.cli.limits import (
    POLL_GRACE_SECONDS,
    POLL_SECONDS,
    POLL_WATCHED_SECONDS,
    POLL_WATCHED_SECONDS_MAX,
)
from windlass.cli.options import Format
from windlass.cli.show.execution import counted
from windlass.cli.show.job import error_text, tried
from windlass.cli.show.output import say, show_json, show_json_line, show_line, show_value
from windlass.cli.show.progress import Teller, is_watched, progress_line
from windlass.clock import monotonic
from windlass.model.job.states import is_terminal

AWAY: Final = "the server does not answer; trying again"
EXITS: Final = {"succeeded": Exit.OK, "cancelled": Exit.CANCELLED}
Thing = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waitable:
    """A noun whose GET holds the answer until it has ended (`?wait=`)."""

    word: str  # in its path, and on the command line
    result: str  # the field that holds what came of it
    is_ended: Callable[[str], bool]  # of its state
    progress: Callable[[Thing], str]  # how far it is, in a line


def _job_progress(job: Thing) -> str:
    spent = tried(job)
    attempt = f", attempt {spent} of {job.get('max_attempts', '?')}" if spent else ""
    return f"{job['id']} {job['state']}{attempt}"


def _execution_progress(execution: Thing) -> str:
    counts = counted(execution)
    return f"{execution['id']} {execution['state']}{': ' if counts else ''}{counts}"


JOB: Final = Waitable(word="job", result="result", is_ended=is_terminal, progress=_job_progress)
EXECUTION: Final = Waitable(
    word="execution",
    result="output",
    # ENDED of model.workflow.execution, which takes too long to import.
    is_ended=frozenset(("succeeded", "failed", "cancelled")).__contains__,
    progress=_execution_progress,
)


def wait_and_show(
    noun: Waitable, client: Client, first: Answer, output: Format, longest: float | None
) -> int:
    """Wait for the thing of `first`, at most `longest` seconds; show it and say how it ended."""
    return show_end(noun, wait_for_end(noun, client, first, longest), output)


def show_end(noun: Waitable, answer: Answer, output: Format) -> int:
    """Show what has ended; the exit code says how."""
    thing = answer.value
    match output:
        case "json":
            show_json(answer.text)
        case "jsonl":
            show_json_line(thing)
        case "id":
            show_line(thing["id"])
        case "table" if thing["state"] == "succeeded":
            show_value(thing.get(noun.result))
        case "table":
            pass  # what went wrong is told below
    if thing["state"] != "succeeded":
        reason = error_text(thing.get("error"))
        say(f"{thing['id']} {thing['state']}{': ' if reason else ''}{reason}")
    return EXITS.get(thing["state"], Exit.FAILED)


def wait_for_end(noun: Waitable, client: Client, first: Answer, longest: float | None) -> Answer:
    """The thing once it has ended. Raises Stopped with TIMED_OUT when `longest` has passed."""
    answer, thing = first, first.value
    begun = monotonic()
    with progress_line() as tell:
        tell(noun.progress(thing))
        while not noun.is_ended(thing["state"]):
            left = seconds_left(noun, thing, begun, longest)
            seconds = min(left, _poll_seconds(monotonic() - begun))
            answer = poll(noun, client, thing["id"], seconds, tell)
            thing = answer.value
            tell(noun.progress(thing))
    return answer


def wait_for_operation(client: Client, first: Answer, longest: float = math.inf) -> Answer:
    """The operation at its end, which has no long poll. Raises Stopped as wait_for_end does."""
    from windlass.cli.show.operation import sentence
    from windlass.model.cluster.operation import ENDED
    from windlass.model.job.bulk import BULK_ENDED

    answer, operation = first, first.value
    path = f"/v1/operations/{segment(operation['id'])}"
    begun = monotonic()
    with progress_line() as tell:
        while operation["phase"] not in ENDED | BULK_ENDED:
            tell(sentence(operation))
            waited = monotonic() - begun
            if waited >= longest:
                raise _timed_out("operation", operation["id"], operation["phase"], longest)
            time.sleep(min(_pause_seconds(waited), longest - waited))
            answer = client.get(path, on_away=partial(tell, AWAY))
            operation = answer.value
        tell(sentence(operation))
    return answer


def seconds_left(noun: Waitable, thing: Thing, begun: float, longest: float | None) -> float:
    """How many more to wait. Raises Stopped when there are none."""
    if longest is None:
        return math.inf
    left = longest - (monotonic() - begun)
    if left <= 0:
        raise _timed_out(noun.word, thing["id"], thing["state"], longest)
    return left


def poll(noun: Waitable, client: Client, thing_id: str, seconds: float, tell: Teller) -> Answer:
    """One long poll, made again while the server is away."""
    path, total = f"/v1/{noun.word}s/{segment(thing_id)}", seconds + POLL_GRACE_SECONDS
    return client.get(path, {"wait": f"{seconds:.3f}s"}, total, partial(tell, AWAY))


def _poll_seconds(waited: float) -> float:
    """How long one poll may take: the whole time, or as long as a person is content with."""
    if not is_watched():
        return POLL_SECONDS
    return min(max(POLL_WATCHED_SECONDS, waited / 4), POLL_WATCHED_SECONDS_MAX)


def _pause_seconds(waited: float) -> float:
    """The longer it has taken, the less does a moment matter."""
    return min(max(POLL_WATCHED_SECONDS, waited / 10), POLL_WATCHED_SECONDS_MAX)


def _timed_out(word: str, thing_id: str, state: str, longest: float) -> Stopped:
    return Stopped(
        f"{thing_id} is still {state} after {longest:g} s; it goes on without us: "
        f"windlass {word} watch {thing_id}",
        Exit.TIMED_OUT,
    )
