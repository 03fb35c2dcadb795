"""Workflows: publish, read, compare; their versions and drafts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from windlass.sdk.http.paging import Pages
from windlass.sdk.http.wire import path_with
from windlass.sdk.nouns.noun import Noun
from windlass.sdk.objects.workflows import (
    Verdict,
    Workflow,
    WorkflowDiff,
    WorkflowDraft,
    WorkflowSummary,
    WorkflowVersion,
    WorkflowVersionSummary,
)

Definition = Mapping[str, Any]


class Workflows(Noun):
    """Workflows, their versions and drafts."""

    path: ClassVar[str] = "/v1/workflows"

    async def put(self, definition: Definition, *, if_match: str | None = None) -> Workflow:
        """Publish; the same as the newest version is answered with that version."""
        path = self._one(definition["name"])
        return Workflow(await self._exchange.put(path, definition, if_match=if_match))

    async def get(self, name: str, version: int | None = None) -> Workflow | WorkflowVersion:
        """Read its newest version, or that one."""
        if version is None:
            return await self._read(Workflow, self._one(name))
        return await self._read(WorkflowVersion, self._one(name, "versions", str(version)))

    def list(self, *, limit: int | None = None) -> Pages[WorkflowSummary]:
        """List workflows by name, without their definitions."""
        return self._pages(WorkflowSummary, {"limit": limit})

    def versions(self, name: str, *, limit: int | None = None) -> Pages[WorkflowVersionSummary]:
        """List its versions, without their definitions."""
        path = self._one(name, "versions")
        return self._pages(WorkflowVersionSummary, {"limit": limit}, path=path)

    async def validate(self, definition: Definition) -> Verdict:
        """Say whether it is `valid`, and what its `errors` are; nothing is kept."""
        return Verdict(await self._exchange.post(f"{self.path}/validate", definition))

    async def diff(self, name: str, from_version: int, to_version: int) -> WorkflowDiff:
        """Compare two versions."""
        query = {"from": from_version, "to": to_version}
        return await self._read(WorkflowDiff, self._one(name, "diff"), query)

    async def export(
        self,
        name: str,
        form: Literal["yaml", "json", "mermaid"] = "yaml",
        version: int | None = None,
    ) -> str:
        """Read the definition as text."""
        path = path_with(self._one(name, "export"), {"format": form, "version": version})
        return await self._exchange.text(path)

    async def delete(self, name: str) -> None:
        """Delete it with its versions."""
        await self._exchange.delete(self._one(name))

    async def draft(self, name: str) -> WorkflowDraft:
        """Read its draft."""
        return await self._read(WorkflowDraft, self._one(name, "draft"))

    async def put_draft(
        self, name: str, draft: Mapping[str, Any], *, if_match: str | None = None
    ) -> WorkflowDraft:
        """Keep this as its draft."""
        path = self._one(name, "draft")
        return WorkflowDraft(await self._exchange.put(path, draft, if_match=if_match))

    async def publish_draft(self, name: str) -> Workflow:
        """Make its draft the newest version."""
        return await self._verb(Workflow, name, "draft/publish")

    async def discard_draft(self, name: str) -> None:
        """Forget its draft."""
        await self._exchange.post(self._one(name, "draft", "discard"))
