"""`windlass event …`: what happened, and what happens now."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass
from typing import Annotated

from cyclopts import App, Parameter

from windlass.cli.http.client import Query
from windlass.cli.http.listing import show_list
from windlass.cli.http.tail import Message, follow
from windlass.cli.options import READ, All, Format, Limit, Reading
from windlass.cli.show.event import EVENT_OF_ANY, line
from windlass.cli.show.output import show_json_line, show_line
from windlass.limits import PAGE_DEFAULT

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

    def query(self) -> Query:
        return {
            "queue": self.queue,
            "job_id": self.job,
            "execution_id": self.execution,
            "noun": self.noun,
            "type": self.type,
        }


ANY = EventOptions()


@app.command
def ls(
    *,
    since: Annotated[
        str | None,
        Parameter(
            metavar="INSTANT", help="From 2030-01-31T12:00:00Z on; else the last 15 minutes."
        ),
    ] = None,
    wanted: EventOptions = ANY,
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """List what happened, oldest first."""
    limit_or_all = None if everything else limit
    query: Query = {**wanted.query(), "created_after": since}
    none = "nothing happened in that time"
    show_list(reading, "/v1/events", query, EVENT_OF_ANY, limit=limit_or_all, none=none)


@app.command
def tail(
    *,
    after: Annotated[
        str | None, Parameter(metavar="EVENT", help="Begin behind this event, evt_…, not now.")
    ] = None,
    count: Annotated[int | None, Parameter(metavar="N", help="End after so many.")] = None,
    wanted: EventOptions = ANY,
    reading: Reading = READ,
) -> None:
    """Print events as they happen, until Ctrl-C.

    A lost connection is made again and goes on behind the last event printed.
    """
    with reading.client() as client, closing(follow(client, after, wanted.query())) as stream:
        for number, event in enumerate(stream, start=1):
            _show(event, reading.output)
            if number == count:
                break


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
