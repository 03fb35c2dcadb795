"""What people see of a job: a row, a page, a sentence, and why it waits (its gates)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from windlass.cli.http.client import Answer
from windlass.cli.http.listing import show_one
from windlass.cli.options import Reading
from windlass.cli.show.moment import clock_time_or_day, length, parse, precisely, when
from windlass.cli.show.output import compact, show_line
from windlass.cli.show.table import Column, columns, instant, prose, spare
from windlass.model.job.draft import ColumnUse, names


def tried(job: Mapping[str, Any]) -> int:
    """How many tries are spent: what was put off, or crashed, was an attempt and spent none."""
    spared = (job.get("snoozes") or 0) + (job.get("crashes") or 0)
    return (job.get("attempt") or 0) - spared


def tries(job: Mapping[str, Any]) -> str:
    return f"{tried(job)}/{job.get('max_attempts', '?')}"


def _last_change(job: Mapping[str, Any]) -> str | None:
    """The instant that matters in this state."""
    match job.get("state"):
        case "queued" | "blocked":
            return job.get("run_at") or job.get("created_at")
        case "running":
            return job.get("started_at")
        case _:
            return job.get("finished_at")


def _took(job: Mapping[str, Any]) -> str:
    started, finished = parse(job.get("started_at")), parse(job.get("finished_at"))
    if started is None or finished is None:
        return ""
    return length((finished - started).total_seconds())


def error_text(error: object) -> str:
    """A job's error in one line: its cause, and what was said."""
    if not isinstance(error, Mapping):
        return "" if error is None else str(error)
    told = (error.get("cause"), error.get("message"))
    return ": ".join(str(part) for part in told if part) or str(dict(error))


def _if_any(name: str) -> Column:
    """A count that is worth a line only when it is not nought."""
    return Column(title=name, take=lambda job: job.get(name) or None)


def attempt_took(attempt: Mapping[str, Any]) -> str:
    milliseconds = attempt.get("duration_ms")
    return "" if milliseconds is None else length(milliseconds / 1000)


def what(job: Mapping[str, Any]) -> str:
    """What it is of: the function, the host that it calls, or else its kind."""
    return str(job.get("task") or job.get("target") or job.get("kind") or "")


def _logged(line: Mapping[str, Any]) -> str:
    """What the task said, whole, with the fields that it said beside."""
    fields = compact(line["fields"]) if line["fields"] else ""
    return f"{line['message']}  {fields}".rstrip()


ROW: Final = (
    *columns("id"),
    Column(title="what", take=what),
    *columns("state", "queue"),
    Column(title="tries", take=tries),
    instant("when", _last_change),
)
PAGE: Final = (
    *columns("id", "kind", "task", "state", "queue", "priority"),
    Column(title="tries", take=tries),
    *columns("created_at"),
    instant("due", "run_at"),
    *columns("started_at", "finished_at"),
    Column(title="took", take=_took),
    *columns("deadline", "timeout", "cancel_requested_at", "node_id", "execution_id", "depends_on"),
    *map(_if_any, ("crashes", "snoozes", "replays")),
    *columns("target", *names(ColumnUse.LABEL), "trace_id"),
    Column(title="error", take=lambda job: error_text(job.get("error"))),
    *columns("input", "result"),
)
ATTEMPT: Final = (
    *columns("attempt", "outcome", "node_id", "started_at"),
    Column(title="took", take=attempt_took),
    *spare("next_run_at"),
    prose("error", lambda attempt: error_text(attempt.get("error")), is_folded=True),
)
LOG_LINE: Final = (
    Column(title="at", take="at", tell=precisely, tell_shortly=clock_time_or_day),
    *columns("attempt", "level"),
    Column(title="message", take=_logged, tell=str, is_prose=True, is_folded=True),
)


def sentence(job: Mapping[str, Any]) -> str:
    """`job_… queued in default, due now (…)`."""
    text = f"{job['id']} {job['state']} in {job['queue']}"
    match job["state"]:
        case "queued":
            return f"{text}, due {when(job.get('run_at'))}"
        case "blocked":
            return f"{text}, waits for {len(job.get('depends_on') or ())} other jobs"
        case "running" if job.get("cancel_requested_at"):
            return f"{text}, asked to stop"
        case "running":
            return f"{text}, attempt {tries(job)}"
        case _:
            return text


def show_why(reading: Reading, answer: Answer) -> None:
    if reading.output == "table":
        for line in lines(answer.value):
            show_line(line)
    else:
        show_one(reading, answer, ())


def lines(why: Mapping[str, Any]) -> list[str]:
    """Where it is, then a line for each gate that is shut."""
    told = [f"{why['job_id']} is {why['state']}"]
    for gate in why["gates"]:
        times = [f"{word} {when(gate[word])}" for word in ("since", "until") if gate.get(word)]
        told.append("  " + ", ".join([gate["reason"], *times]))
    if not why["gates"]:
        told.append(f"  {why['summary']}")
    if why.get("estimated_start"):
        told.append(f"  it should start {when(why['estimated_start'])}")
    return told
