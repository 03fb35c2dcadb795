"""Folding events into the job they describe, as of any instant (event sourcing, G10).

A job's row is the sum of its events (see model.job.event). Folding those up to an instant gives the
job as it was then; folding all of them gives its row, which `windlass doctor` checks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from windlass.model.job.event import Event


@dataclass(slots=True, kw_only=True)
class Folded:
    """A job as its events tell it. A state of None: it was not there yet."""

    state: str | None = None
    attempt: int = 0
    run_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    node_id: UUID | None = None
    outcome: str | None = None
    cause: str | None = None
    error: Any = None  # of the newest attempt that failed
    replays: int = 0
    crashes: int = 0
    snoozes: int = 0


def fold(events: Iterable[Event]) -> Folded:
    """`events` of one job, in the order of their sort keys."""
    job = Folded()
    for event in events:
        _apply(job, event)
    return job


def _apply(job: Folded, event: Event) -> None:
    data = event.data
    match event.type:
        case "created":
            job.state, job.run_at = data["state"], data["run_at"]
        case "unblocked":
            job.state, job.run_at = "queued", data["run_at"]
        case "promoted" | "debounced":
            job.run_at = data["run_at"]
        case "started":
            job.state, job.attempt, job.started_at = "running", data["attempt"], event.at
            job.node_id = UUID(data["node_id"]) if data["node_id"] else None
        case "released":
            # Claimed ahead and never begun: the claim is undone.
            job.state, job.attempt = "queued", data["attempt"] - 1
            job.started_at = job.node_id = None
        case "retried" | "snoozed" | "rescued":
            job.state, job.run_at, job.node_id = "queued", data["run_at"], None
            job.error = data.get("error") or job.error
            job.snoozes += event.type == "snoozed"
            job.crashes += event.type == "rescued"
        case "cancel_requested":
            job.cancel_requested_at = event.at
        case "finished":
            job.state, job.finished_at = data["state"], event.at
            job.outcome, job.cause = data["outcome"], data.get("cause")
            job.error = data.get("error") or job.error
        case "replayed":
            _replay(job, data)
        case _:
            pass  # told for people; moves nothing


def _replay(job: Folded, data: dict[str, Any]) -> None:
    """From the end back to the queue with all its tries again, but the fence goes on counting."""
    job.state, job.run_at = "queued", data["run_at"]
    job.finished_at = job.cancel_requested_at = job.node_id = job.outcome = job.cause = None
    job.snoozes, job.crashes = job.attempt, 0
    job.replays += 1
