"""Schedules, their firings and their next instants at a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from windlass.cli.http.client import Answer
from windlass.cli.options import Reading
from windlass.cli.show.moment import relative
from windlass.cli.show.output import show_json, show_json_line, show_line
from windlass.cli.show.table import (
    Column,
    columns,
    instant,
    prose,
    show_sentence,
    show_table,
    spare,
)


def _does(schedule: Mapping[str, Any]) -> str:
    workflow, job = schedule.get("workflow"), schedule.get("job") or {}
    if workflow:
        return f"workflow {workflow['name']}"
    task = (job.get("input") or {}).get("task") if job.get("kind") == "python" else None
    return f"job {job.get('kind')}{f' {task}' if task else ''}"


ROW: Final = (
    *columns("name", "state"),
    prose("words"),
    Column(title="does", take=_does),
    instant("next", "next_at"),
    *spare(instant("last", "last_at")),
)
PAGE: Final = (
    *columns("id", "name", "state", "words"),
    Column(title="does", take=_does),
    *columns("next_at", "fire_at", "last_at", "cron", "every", "at", "timezone", "dst"),
    *columns("starts_at", "ends_at", "jitter", "calendar", "overlap", "misfire", "catchup"),
    *columns("priority", "tags", "paused_at", "note", "source", "owner", "edition"),
    *columns("created_at", "changed_at"),
    *columns("job", "workflow"),
)


def _made(firing: Mapping[str, Any]) -> str | None:
    return firing.get("job_id") or firing.get("execution_id")


def _state(firing: Mapping[str, Any]) -> str:
    more = firing.get("stands_for", 1) - 1
    return f"{firing['state']}{f' (and {more} before)' if more else ''}"


FIRING: Final = (
    Column(title="instant", take="instant"),
    Column(title="state", take=_state),
    *spare(
        instant("fired", "fired_at"),
        Column(title="asked", take=lambda firing: "yes" if firing.get("is_asked") else None),
    ),
    Column(title="made", take=_made),
    prose("reason"),
)
_TIME: Final = (
    Column(title="instant", take="instant"),
    Column(title="in", take=lambda time: relative(time["instant"]).removeprefix("in ")),
    *columns("local"),
    prose("note"),
)


def show_times(reading: Reading, answer: Answer) -> None:
    found = answer.value
    match reading.output:
        case "json":
            show_json(answer.text)
        case "jsonl":
            for time in found["next"]:
                show_json_line(time)
        case "id":
            for time in found["next"]:
                show_line(time["instant"])
        case "table":
            show_sentence(found["words"])
            show_table(_TIME, found["next"], "it is never due again")
