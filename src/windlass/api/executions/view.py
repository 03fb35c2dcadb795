"""Executions as the API shows them: the whole, its graph, and why it has not ended."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from windlass import ids
from windlass.api.jobs.view import Row, raw, shown
from windlass.engine.executions.graph import GraphStep
from windlass.engine.executions.why import WhyExecution
from windlass.limits import OUTPUT_SHOWN_CHARS_MAX
from windlass.model.job.states import PRIORITY_NAMES
from windlass.model.trace_context import trace_id_of
from windlass.model.workflow.execution import ENDED


def execution_view(row: Row) -> dict[str, Any]:
    """From a row of `execution_list`."""
    return {
        "id": ids.show("execution", row["id"]),
        "workflow": row["workflow"],
        "version": row["version"],
        "state": row["state"],
        "counts": raw(row["counts"]),
        "input": raw(row["input"]),
        "output": raw(row["output"]),
        "error": raw(row["error"]),
        "created_at": row["created_at"],
        "started_at": row["started_at"],
        "finished_at": row["finished_at"],
        "deadline": row["deadline"],
        "parent": _parent(row),
        "depth": row["depth"],
        "priority": PRIORITY_NAMES[row["priority"]],
        "concurrency_key": row["concurrency_key"],
        "correlation_id": row["correlation_id"],
        "trace_id": trace_id_of(row["trace_id"]),
        "tags": row["tags"] or [],
        "paused_at": row["paused_at"],
        "cancel_requested_at": row["cancel_requested_at"],
        "refreshed_at": row["refreshed_at"],
    }


def _parent(row: Row) -> dict[str, Any] | None:
    if row["parent_job_id"] is None:
        return None
    return {
        "execution_id": shown("execution", row["parent_execution_id"]),
        "job_id": ids.show("job", row["parent_job_id"]),
    }


def graph_view(execution: Row, steps: list[GraphStep]) -> dict[str, Any]:
    """Its steps in the order of the definition, and an edge for each need."""
    is_over = execution["state"] in ENDED
    return {
        "execution_id": ids.show("execution", execution["id"]),
        "workflow": execution["workflow"],
        "version": execution["version"],
        "state": execution["state"],
        "steps": [_step_view(step, "unreached" if is_over else "waiting") for step in steps],
        "edges": [
            {"from": need.step, "to": step.id, "when": need.when, "cases": list(need.cases)}
            for step in steps
            for need in step.needs
        ],
    }


def _step_view(step: GraphStep, without_job: str) -> dict[str, Any]:
    row = step.row
    view: dict[str, Any] = {
        "id": step.id,
        "kind": step.kind,
        "title": step.title,
        "needs": [{"step": need.step, "when": need.when} for need in step.needs],
        "state": without_job if row is None else row["state"],
        "job_id": None,
        "created_at": None,
        "started_at": None,
        "finished_at": None,
        "attempt": 0,
        "max_attempts": None,
        "until": None,
        "child_id": None,
        "counts": _counts(step),
        "output": None,
        "output_excerpt": None,
        "error": None,
    }
    if row is None:
        return view
    is_whole = row["result_chars"] <= OUTPUT_SHOWN_CHARS_MAX
    return {
        **view,
        "job_id": ids.show("job", row["id"]),
        "created_at": row["created_at"],
        "started_at": row["started_at"],
        "finished_at": row["finished_at"],
        "attempt": row["attempt"],
        "max_attempts": row["max_attempts"],
        "until": row["callback_until"],
        "child_id": shown("execution", row["child_id"]),
        "output": raw(row["result"]) if is_whole else None,
        "output_excerpt": None if is_whole else row["result"],
        "error": raw(row["error"]),
    }


def _counts(step: GraphStep) -> dict[str, int] | None:
    found = step.items
    if found is None:
        return None
    ended = found["succeeded"] + found["failed"]
    counts = {name: found[name] for name in ("total", "expanded", "succeeded", "failed")}
    return {**counts, "open": max(0, found["expanded"] - ended)}


def why_view(execution_id: UUID, why: WhyExecution) -> dict[str, Any]:
    return {
        "execution_id": ids.show("execution", execution_id),
        "state": why.state,
        "summary": why.summary,
        "reasons": [
            {
                "gate": reason.gate,
                "reason": reason.reason,
                "since": reason.since,
                "until": reason.until,
                "step": reason.step,
                "item": reason.item,
                "job_id": shown("job", reason.job_id),
            }
            for reason in why.reasons
        ],
        "has_more": why.has_more,
    }
