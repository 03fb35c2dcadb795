"""An event as the API shows it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from windlass import ids
from windlass.model.event import Event


def event_view(event: Event, queue: str | None = None) -> dict[str, Any]:
    data = event.data
    if isinstance(data.get("node_id"), str):
        data = {**data, "node_id": ids.show("node", UUID(data["node_id"]))}
    subject = event.subject
    if event.noun in ("job", "node"):
        subject = ids.PREFIXES[event.noun] + subject
    return {
        "id": event.id,
        "at": event.at,
        "type": event.type,
        "noun": event.noun,
        "subject": subject,
        "job_id": ids.show("job", event.job_id) if event.job_id else None,
        "queue": event.queue or queue,
        "data": data,
    }
