"""`windlass schedule import`: crontabs and Celery's beat entries, with a report on each line.

Promises: nothing is run that stands in a crontab or a file. What is imported is what the report
says; the same import again changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage, Exit
from windlass.cli.http.client import Client, segment
from windlass.cli.http.problem import Refused
from windlass.cli.imports.celery import CeleryImport
from windlass.cli.imports.celery_source import Moved, read_beat
from windlass.cli.imports.crontab_entries import CrontabImport
from windlass.cli.imports.job import JobMaker
from windlass.cli.imports.report import Parity, counts, show_report
from windlass.cli.options import READ, Reading
from windlass.cli.show.output import show_json_line, show_line, show_value
from windlass.cli.values import read_text
from windlass.model.schedule.zone import read_zone

_LOCALTIME: Final = Path("/etc/localtime")
DryRun = Annotated[bool, Parameter(help="Only say what would become of each line.")]
Zone = Annotated[str | None, Parameter(metavar="ZONE", help="Such as Europe/Berlin.")]
Prefix = Annotated[
    str, Parameter(metavar="TEXT", show_default=True, help="Names of the schedules begin so.")
]

app = App(name="import", help="Bring crontabs and Celery's beat entries here, line by line.")


@app.command
def crontab(
    file: Annotated[
        str, Parameter(metavar="FILE|-", allow_leading_hyphen=True, help="As crontab -l shows it.")
    ],
    /,
    *,
    given_as: Annotated[
        str | None,
        Parameter(
            name="--as",
            metavar="KIND:WHAT",
            help="What stands for a command: python:TASK gets it as keyword arguments, "
            "http:URL as JSON; command, stdin, user and environment.",
        ),
    ] = None,
    template: Annotated[
        str | None,
        Parameter(
            metavar="JSON|@FILE",
            help="A whole job instead, with ${command}, ${stdin}, ${user} and ${environment}.",
        ),
    ] = None,
    user_field: Annotated[
        bool, Parameter(help="A user stands before each command, as in /etc/crontab.")
    ] = False,
    timezone: Zone = None,
    misfire: Annotated[
        Literal["skip", "fire_once", "fire_all"],
        Parameter(show_default=True, help="What to make of missed instants; cron skips them."),
    ] = "skip",
    prefix: Prefix = "cron.",
    dry_run: DryRun = False,
    reading: Reading = READ,
) -> int:
    """Import a crontab; each line is told: kept exactly, differs how, or why not.

    No kind of job runs a shell: --as or --template says what does a command's work.
    The zone is that of CRON_TZ, else --timezone, else this machine's.
    """
    jobs = JobMaker(given_as, template)
    if not jobs.is_told and not dry_run:
        raise BadUsage("say which job does it: --as python:TASK, --as http:URL or --template JSON")
    lines = CrontabImport(
        jobs,
        zone=_zone(timezone) or _machine_zone(),
        misfire=misfire,
        prefix=prefix,
        has_users=user_field,
    )
    text = read_text("FILE", file).decode("utf-8", "replace")
    return _import(reading, lines.lines(text), dry_run=dry_run)


@app.command
def celery(
    given: Annotated[
        str,
        Parameter(
            metavar="FILE|MODULE:ATTR",
            help="A .py or .json file, which is read and never run; or what to import: a "
            "beat_schedule, Celery's app or the bridge to it.",
        ),
    ],
    /,
    *,
    bridge: Annotated[
        bool,
        Parameter(
            help="Nodes run the bridge to Celery, and not tasks of these names. It is known from "
            "a .py file that makes the bridge, and from Celery's app."
        ),
    ] = False,
    timezone: Zone = None,
    prefix: Prefix = "celery.",
    dry_run: DryRun = False,
    reading: Reading = READ,
) -> int:
    """Import beat_schedule; each entry is told: kept exactly, differs how, or why not.

    A task keeps its name: the nodes' app must know it by that, or be the bridge to Celery, which
    performs any task of its queues; what is in other queues stays with beat.
    The zone is --timezone, else what the file says, else UTC, which is Celery's.
    """
    beat = read_beat(given)
    zone = _zone(timezone) or _zone(beat.zone) or "UTC"
    moved = beat.moved or (Moved() if bridge else None)
    entries = CeleryImport(zone=zone, prefix=prefix, moved=moved, app=beat.app)
    return _import(reading, entries.entries(beat), dry_run=dry_run)


def _import(reading: Reading, found: Iterable[Parity], *, dry_run: bool) -> int:
    if dry_run:
        lines = list(found)
    else:
        with reading.client() as client:
            lines = [_sent(client, line) for line in found]
    match reading.output:
        case "json":
            shown = [line.shown() for line in lines]
            show_value({"dry_run": dry_run, "counts": counts(lines), "lines": shown})
        case "jsonl":
            for line in lines:
                show_json_line(line.shown())
        case "id":
            for line in lines:
                if line.body is not None and line.verdict != "refused":
                    show_line(str(line.name))
        case "table":
            show_report(lines)
    return Exit.FAILED if any(line.verdict == "refused" for line in lines) else Exit.OK


def _sent(client: Client, line: Parity) -> Parity:
    if line.body is None or line.name is None:
        return line
    try:
        answer = client.put(f"/v1/schedules/{segment(line.name)}", line.body)
    except Refused as refused:
        if refused.status not in (409, 422):
            raise
        return line.refused(" ".join(str(refused).split()))
    return replace(line, outcome="made" if answer.status == 201 else "changed")


def _zone(given: str | None) -> str | None:
    if given is None:
        return None
    try:
        return read_zone(given)
    except ValueError as trouble:
        raise BadUsage(f"--timezone {trouble}") from None


def _machine_zone() -> str:
    """Where cron would look; UTC when that says nothing."""
    linked = os.path.realpath(_LOCALTIME).partition("/zoneinfo/")[2]
    for given in (os.environ.get("TZ", "").lstrip(":"), linked):
        try:
            return read_zone(given)
        except ValueError:
            continue
    return "UTC"
