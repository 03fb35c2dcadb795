"""Approvals: decisions that people are asked for."""

from __future__ import annotations

from typing import ClassVar

from windlass.sdk.http.paging import Pages
from windlass.sdk.nouns.noun import Many, Noun, given
from windlass.sdk.objects.executions import Approval


class Approvals(Noun):
    """Decisions that people are asked for."""

    path: ClassVar[str] = "/v1/approvals"

    def list(
        self,
        *,
        state: Many | None = None,
        execution_id: str | None = None,
        limit: int | None = None,
    ) -> Pages[Approval]:
        """List them, newest first."""
        filters = {"state": state, "execution_id": execution_id, "limit": limit}
        return self._pages(Approval, filters)

    async def approve(
        self, approval_id: str, *, comment: str | None = None, answer: object = None
    ) -> Approval:
        """The step that waits for it succeeds; `answer` is as its form asks for."""
        body = given(comment=comment, answer=answer)
        return await self._verb(Approval, approval_id, "approve", body)

    async def reject(
        self, approval_id: str, *, comment: str | None = None, answer: object = None
    ) -> Approval:
        """The step that waits for it fails."""
        body = given(comment=comment, answer=answer)
        return await self._verb(Approval, approval_id, "reject", body)
