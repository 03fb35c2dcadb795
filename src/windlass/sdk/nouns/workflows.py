"""Workflows: publish, read, compare; their versions and drafts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from windlass.sdk.http.paging import Pages, Thing
from windlass.sdk.http.wire import path_with
from windlass.sdk.nouns.noun import Noun

Definition = Mapping[str, Any]


class Workflows(Noun):
    path: ClassVar[str] = "/v1/workflows"

    async def put(self, definition: Definition, *, if_match: str | None = None) -> Thing:
        """Publish; the same as the newest version is answered with that version."""
        path = self._one(definition["name"])
        published: Thing = await self._exchange.put(path, definition, if_match=if_match)
        return published

    async def get(self, name: str, version: int | None = None) -> Thing:
        """Its newest version, or that one."""
        below = () if version is None else ("versions", str(version))
        return await self._read(self._one(name, *below))

    def list(self, *, limit: int | None = None) -> Pages:
        """By name, without their definitions."""
        return self._pages({"limit": limit})

    def versions(self, name: str, *, limit: int | None = None) -> Pages:
        return self._pages({"limit": limit}, path=self._one(name, "versions"))

    async def validate(self, definition: Definition) -> Thing:
        """`{"valid": …, "errors": […]}`; nothing is kept."""
        found: Thing = await self._exchange.post(f"{self.path}/validate", definition)
        return found

    async def diff(self, name: str, from_version: int, to_version: int) -> Thing:
        query = {"from": from_version, "to": to_version}
        return await self._read(self._one(name, "diff"), query)

    async def export(
        self,
        name: str,
        form: Literal["yaml", "json", "mermaid"] = "yaml",
        version: int | None = None,
    ) -> str:
        """The definition as text."""
        path = path_with(self._one(name, "export"), {"format": form, "version": version})
        return await self._exchange.text(path)

    async def delete(self, name: str) -> None:
        await self._exchange.delete(self._one(name))

    async def draft(self, name: str) -> Thing:
        return await self._read(self._one(name, "draft"))

    async def put_draft(
        self, name: str, draft: Mapping[str, Any], *, if_match: str | None = None
    ) -> Thing:
        path = self._one(name, "draft")
        kept: Thing = await self._exchange.put(path, draft, if_match=if_match)
        return kept

    async def publish_draft(self, name: str) -> Thing:
        return await self._verb(name, "draft/publish")

    async def discard_draft(self, name: str) -> None:
        await self._exchange.post(self._one(name, "draft", "discard"))
