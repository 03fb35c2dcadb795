"""What people see of executions and approvals: rows, pages, sentences, and why one waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from windlass.cli.http.client import Answer
from windlass.cli.http.listing import show_one
from windlass.cli.options import Reading
from windlass.cli.show.job import error_text, tries
from windlass.cli.show.moment import length, parse, when
from windlass.cli.show.output import show_line
from windlass.cli.show.table import Column, columns, instant, prose, spare


def _called(execution: Mapping[str, Any]) -> str:
    return f"{execution.get('workflow', '?')} {execution.get('version', '?')}"


def counted(execution: Mapping[str, Any]) -> str:
    counts = execution.get("counts") or {}
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count)


def _took(execution: Mapping[str, Any]) -> str:
    started, finished = parse(execution.get("started_at")), parse(execution.get("finished_at"))
    if started is None or finished is None:
        return ""
    return length((finished - started).total_seconds())


def _parent(name: str) -> Column:
    return Column(
        title=f"parent {name.removesuffix('_id')}",
        take=lambda execution: (execution.get("parent") or {}).get(name),
    )


ROW: Final = (
    *columns("id"),
    Column(title="workflow", take=_called),
    *columns("state"),
    prose("jobs", counted),
    *columns("created_at"),
    *spare(Column(title="took", take=_took)),
)
PAGE: Final = (
    *columns("id"),
    Column(title="workflow", take=_called),
    *columns("state", "priority"),
    Column(title="jobs", take=counted),
    *columns("created_at", "started_at", "finished_at"),
    Column(title="took", take=_took),
    instant("deadline", "deadline"),
    *columns("paused_at", "cancel_requested_at"),
    _parent("execution_id"),
    _parent("job_id"),
    *columns("concurrency_key", "correlation_id", "trace_id", "tags"),
    Column(title="error", take=lambda execution: error_text(execution.get("error"))),
    *columns("input", "output"),
)


def _step_of(job: Mapping[str, Any]) -> str:
    item = job.get("item")
    return f"{job.get('step', '')}" if item is None else f"{job.get('step', '')}[{item}]"


JOB: Final = (
    Column(title="step", take=_step_of),
    *columns("id"),
    *spare("kind"),
    *columns("state"),
    *spare(Column(title="tries", take=tries), "started_at", Column(title="took", take=_took)),
    prose("error", lambda job: error_text(job.get("error"))),
)
APPROVAL: Final = (
    *columns("id", "state"),
    prose("title"),
    *spare("execution_id"),
    *columns("step"),
    *spare("created_at"),
    instant("until", "until"),
    *spare("decided_by", prose("comment")),
)


def sentence(execution: Mapping[str, Any]) -> str:
    """`exe_… running, fulfil 3, asked to cancel`."""
    told = [f"{execution['id']} {execution['state']}", _called(execution)]
    if execution.get("cancel_requested_at") and not execution.get("finished_at"):
        told.append("asked to cancel")
    return ", ".join(told)


def show_why(reading: Reading, answer: Answer) -> None:
    if reading.output != "table":
        show_one(reading, answer, ())
        return
    why = answer.value
    show_line(f"{why['execution_id']} is {why['state']}")
    for reason in why["reasons"]:
        where = f"step {_step_of(reason)}: " if reason.get("step") else ""
        times = [f"{word} {when(reason[word])}" for word in ("since", "until") if reason.get(word)]
        show_line("  " + ", ".join([where + reason["reason"], *times]))
    if not why["reasons"]:
        show_line(f"  {why['summary']}")
    if why.get("has_more"):
        show_line("  more of its jobs are open: windlass execution jobs shows them all")
