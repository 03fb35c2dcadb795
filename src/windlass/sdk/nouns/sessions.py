"""Sessions: where one is logged in; ended one by one or all at once."""

from __future__ import annotations

from typing import ClassVar

from windlass.sdk.http.paging import Pages
from windlass.sdk.http.wire import path_with
from windlass.sdk.nouns.noun import Noun
from windlass.sdk.objects.identity import EndedSessions, Session


class Sessions(Noun):
    """Where one is logged in, with device and address."""

    path: ClassVar[str] = "/v1/sessions"

    def list(
        self,
        *,
        user: str | None = None,  # by name or id, or `all`; None: one's own
        limit: int | None = None,
    ) -> Pages[Session]:
        """List sessions, newest first; those of others for who may edit users."""
        return self._pages(Session, {"user": user, "limit": limit})

    async def end(self, session_id: str) -> None:
        """End one."""
        await self._exchange.delete(self._one(session_id))

    async def end_all(
        self,
        user: str | None = None,  # by name or id; None: one's own
    ) -> EndedSessions:
        """End all of a user but the one that asks; how many they were."""
        path = path_with(self.path, {"user": user})
        return EndedSessions(await self._exchange.call("DELETE", path))
