"""`windlass event …`: what happened, and what happens now."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage
from windlass.cli.http.client import Client, Query
from windlass.cli.http.listing import show_list
from windlass.cli.http.tail import Message, follow
from windlass.cli.http.whole_id import whole_id_or_none
from windlass.cli.options import ANY_TIME, READ, All, Format, Limit, Reading, Window
from windlass.cli.show.event import EVENT_OF_ANY, line
from windlass.cli.show.output import show_json_line, show_line
from windlass.cli.values import instant
from windlass.limits import PAGE_DEFAULT
from windlass.model.job.event import SortKey, show_event_id

app = App(name="event", help="Follow what happens, live.")


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class EventOptions:
    """Which events. None: any."""

    queue: Annotated[str | None, Parameter(metavar="NAME", help="Only of this queue.")] = None
    job: Annotated[str | None, Parameter(metavar="JOB", help="Only of this job, job_…")] = None
    execution: Annotated[
        str | None, Parameter(metavar="EXECUTION", help="Only of this execution and its jobs.")
    ] = None
    noun: Annotated[
        str | None, Parameter(metavar="NOUN", help="Only of jobs, executions: job, execution…")
    ] = None
    type: Annotated[
        str | None, Parameter(metavar="TYPE", help="Only created, started, retried, finished…")
    ] = None

    def query(self, client: Client) -> Query:
        return {
            "queue": self.queue,
            "job_id": whole_id_or_none(client, "job", self.job),
            "execution_id": whole_id_or_none(client, "execution", self.execution),
            "noun": self.noun,
            "type": self.type,
        }


ANY = EventOptions()


@app.command
def ls(
    *,
    window: Window = ANY_TIME,
    wanted: EventOptions = ANY,
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """List what happened, oldest first: in the last 15 minutes, unless --since says otherwise."""
    when = window.query()
    show_list(
        reading,
        "/v1/events",
        lambda client: {**wanted.query(client), **when},
        EVENT_OF_ANY,
        limit=None if everything else limit,
        none="nothing happened in that time",
    )


@app.command
def tail(
    *,
    after: Annotated[
        str | None, Parameter(metavar="EVENT", help="Begin behind this event, evt_…, not now.")
    ] = None,
    since: Annotated[
        str | None, Parameter(metavar="WHEN", help="Begin then, not now: 10m (ago), 14:05.")
    ] = None,
    count: Annotated[int | None, Parameter(metavar="N", help="End after so many.")] = None,
    wanted: EventOptions = ANY,
    reading: Reading = READ,
) -> None:
    """Print events as they happen, until Ctrl-C.

    A lost connection is made again and goes on behind the last event printed.
    """
    if after is not None and since is not None:
        raise BadUsage("give one of these: --since or --after")
    begin = after if since is None else _first_position(instant("--since", since))
    with (
        reading.client() as client,
        closing(follow(client, begin, wanted.query(client))) as stream,
    ):
        for number, event in enumerate(stream, start=1):
            _show(event, reading.output)
            if number == count:
                break


def _first_position(at: str) -> str:
    """Where a stream begins that tells of all that happened at `at` or later."""
    just_before = datetime.fromisoformat(at) - timedelta.resolution
    return show_event_id(SortKey(just_before, UUID(int=0), 0, 0))


def _show(event: Message, output: Format) -> None:
    match output:
        case "table":
            show_line(line(event.value))
        case "id":
            show_line(event.id)
        case "json" | "jsonl":
            show_json_line(event.value)
    # A reader at the other end of a pipe sees each event when it happens.
    sys.stdout.flush()
