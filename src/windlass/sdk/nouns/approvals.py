"""Approvals: decisions that people are asked for."""

from __future__ import annotations

from typing import ClassVar

from windlass.sdk.http.paging import Pages, Thing
from windlass.sdk.nouns.noun import Many, Noun, given


class Approvals(Noun):
    path: ClassVar[str] = "/v1/approvals"

    def list(
        self,
        *,
        state: Many | None = None,
        execution_id: str | None = None,
        limit: int | None = None,
    ) -> Pages:
        """Newest first."""
        return self._pages({"state": state, "execution_id": execution_id, "limit": limit})

    async def approve(
        self, approval_id: str, *, comment: str | None = None, answer: object = None
    ) -> Thing:
        """The step that waits for it succeeds; `answer` is as its form asks for."""
        return await self._verb(approval_id, "approve", given(comment=comment, answer=answer))

    async def reject(
        self, approval_id: str, *, comment: str | None = None, answer: object = None
    ) -> Thing:
        """The step that waits for it fails."""
        return await self._verb(approval_id, "reject", given(comment=comment, answer=answer))
