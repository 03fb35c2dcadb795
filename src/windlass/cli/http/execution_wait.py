"""Stay with an execution until it has ended, and tell how it goes.

Promises: the output alone goes to standard output; what is told meanwhile goes to standard error.
The server may be away for a while, as it is while restarting; the wait goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

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
from windlass.cli.show.job import error_text
from windlass.cli.show.output import say, show_json, show_json_line, show_line, show_value
from windlass.cli.show.progress import is_watched, telling
from windlass.clock import monotonic

ENDED: Final = frozenset(("succeeded", "failed", "cancelled"))
EXITS: Final = {"succeeded": Exit.OK, "cancelled": Exit.CANCELLED}
# Takes the execution as it is, and the longest time; gives it as it ended.
Wait = Callable[[Client, Answer, float | None], Answer]


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
        tell(_progress(execution))
        while execution["state"] not in ENDED:
            left = left_of(execution, begun, longest)
            poll = min(left, _patience(monotonic() - begun))
            answer = though_away(partial(ask, client, execution["id"], poll), tell)
            execution = answer.value
            tell(_progress(execution))
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


def _patience(waited: float) -> float:
    """How long one poll may take: the whole time, or as long as a person is content with."""
    if not is_watched():
        return POLL_SECONDS
    return min(max(POLL_WATCHED_SECONDS, waited / 4), POLL_WATCHED_SECONDS_MAX)


def _progress(execution: dict[str, Any]) -> str:
    counts = execution.get("counts") or {}
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return f"{execution['id']} {execution['state']}{': ' if told else ''}{told}"
