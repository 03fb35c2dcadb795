"""Secrets: written, named, never read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from windlass.sdk.http.paging import Pages, Thing
from windlass.sdk.nouns.noun import Duration, Noun, given


class Secrets(Noun):
    path: ClassVar[str] = "/v1/secrets"

    async def put(
        self,
        name: str,
        value: Any = None,
        *,
        generate: str | None = None,  # the kind to make one of, instead of a value
        overlap: Duration | None = None,  # how long the value before is good as well
        hosts: Sequence[str] | None = None,  # it may go to; None: as before, or where it goes first
        if_match: str | None = None,
    ) -> Thing:
        allowed = None if hosts is None else list(hosts)
        body = given(value=value, generate=generate, overlap=overlap, hosts=allowed)
        kept: Thing = await self._exchange.put(self._one(name), body, if_match=if_match)
        return kept

    async def bind(
        self, name: str, hosts: Sequence[str] | None, *, if_match: str | None = None
    ) -> Thing:
        """Say where it may go, and nowhere else; None: its next use binds it. Its value stays."""
        body = {"hosts": None if hosts is None else list(hosts)}
        kept: Thing = await self._exchange.put(self._one(name), body, if_match=if_match)
        return kept

    async def get(self, name: str) -> Thing:
        """What is known of it, without its value."""
        return await self._read(self._one(name))

    def list(self, *, limit: int | None = None) -> Pages:
        """By name, without their values."""
        return self._pages({"limit": limit})

    async def delete(self, name: str) -> None:
        await self._exchange.delete(self._one(name))
