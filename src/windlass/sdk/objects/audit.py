"""The audit log, as the API shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from windlass.sdk.http.api_object import ApiObject


class AuditEntry(ApiObject):
    """Who did what to which object, from where."""

    _shown: ClassVar[tuple[str, ...]] = ("at", "actor_name", "action", "object_name")

    id: str
    at: datetime
    actor_kind: str
    actor_id: str | None
    actor_name: str
    credential_id: str | None
    address: str | None
    request_id: str | None
    node_id: str | None
    action: str
    noun: str
    object_id: str | None
    object_name: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    note: str | None
    count: int | None
