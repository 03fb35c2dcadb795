"""The audit log: who did what to which object, from where."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import ClassVar, TypedDict, Unpack

import msgspec

from windlass.sdk.http.paging import Pages
from windlass.sdk.http.wire import path_with
from windlass.sdk.limits import SILENCE_SECONDS
from windlass.sdk.nouns.noun import Instant, Many, Noun
from windlass.sdk.objects.audit import AuditEntry


class AuditFilter(TypedDict, total=False):
    """Which entries are wanted."""

    actor: str  # an id, or a name
    actor_kind: Many
    action: Many  # queue.pause
    noun: Many
    object: str  # an id, or a name
    address: str
    request_id: str
    created_after: Instant
    created_before: Instant


class AuditPages(AuditFilter, total=False):
    """And how many."""

    limit: int


class Audit(Noun):
    """Who did what to which object, from where; for admins."""

    path: ClassVar[str] = "/v1/audit"

    def list(self, **filters: Unpack[AuditPages]) -> Pages[AuditEntry]:
        """List what was done, newest first."""
        return self._pages(AuditEntry, filters)

    async def export(self, **filters: Unpack[AuditFilter]) -> AsyncGenerator[AuditEntry]:
        """All that was done, newest first, in one answer. Raises Unreachable when that breaks off:
        what came is not all of it then.
        """
        path = path_with(f"{self.path}/export", dict(filters))
        headers = {"Accept": "application/x-ndjson"}
        async with self._exchange.stream(path, headers, SILENCE_SECONDS) as lines:
            async for line in lines:
                if line:
                    yield AuditEntry(msgspec.json.decode(line))
