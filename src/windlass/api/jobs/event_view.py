"""An event as the API shows it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from windlass import ids
from windlass.model.job.event import Event


def event_view(
    event: Event, queue: str | None = None, execution_id: UUID | None = None
) -> dict[str, Any]:
    """`queue` and `execution_id` are its job's, where the event does not say them itself."""
    execution_id = event.execution_id or execution_id
    data = event.data
    if isinstance(data.get("node_id"), str):
        data = {**data, "node_id": ids.show("node", UUID(data["node_id"]))}
    subject = event.subject
    if event.noun in ("job", "node", "execution"):
        subject = ids.PREFIXES[event.noun] + subject
    return {
        "id": event.id,
        "at": event.at,
        "type": event.type,
        "noun": event.noun,
        "subject": subject,
        "job_id": ids.show("job", event.job_id) if event.job_id else None,
        "execution_id": ids.show("execution", execution_id) if execution_id else None,
        "queue": event.queue or queue,
        "data": data,
    }
