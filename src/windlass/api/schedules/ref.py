"""What the routes of schedules share: their paths, and which schedule is meant."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from windlass import ids
from windlass.api.http.idempotency import HEADER, KEY_SCHEMA
from windlass.api.http.route import Call
from windlass.api.parts import ApiParts
from windlass.api.schedules.body import read_schedule_name
from windlass.engine.jobs.admission import QueueDefaults
from windlass.engine.schedules.decide import FireOptions
from windlass.errors import InvalidInput
from windlass.limits import NAME_CHARS_MAX
from windlass.model.json.value_schema import NAME_PATTERN

TAG: Final = "Schedules"
MANY: Final = "/v1/schedules"
ONE: Final = f"{MANY}/{{schedule:str}}"
ITS_REF: Final[dict[str, Any]] = {
    "schedule": {
        "type": "string",
        "description": "Its name, or its id",
        "pattern": f"^{NAME_PATTERN}*$",
        "minLength": 1,
        "maxLength": NAME_CHARS_MAX,
    }
}
KEY: Final = {HEADER: ("Makes a repetition harmless", KEY_SCHEMA)}


def ref_of(request: Call) -> UUID | str:
    """An id, or a name. Raises InvalidInput."""
    text = request.path_params["schedule"]
    try:
        if text.startswith(ids.PREFIXES["schedule"]):
            return ids.parse("schedule", text)
        return read_schedule_name(text)
    except ValueError as trouble:
        raise InvalidInput.at("{schedule}", str(trouble)) from None


def fire_options(parts: ApiParts) -> FireOptions:
    settings = parts.settings
    return FireOptions(
        queue_defaults=QueueDefaults(
            max_jobs=settings.queue_max_jobs, max_bytes=settings.queue_max_bytes
        ),
        max_attempts=settings.retry_max_attempts,
    )
