"""Secrets: written, named, never read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from windlass.sdk.http.paging import Pages
from windlass.sdk.nouns.noun import Duration, Noun, given
from windlass.sdk.objects.resources import Secret, SecretPut


class Secrets(Noun):
    """Secrets: written, named, never read."""

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
    ) -> SecretPut:
        """Write it: a value of yours, or one that is generated, which is answered this once."""
        allowed = None if hosts is None else list(hosts)
        body = given(value=value, generate=generate, overlap=overlap, hosts=allowed)
        return SecretPut(await self._exchange.put(self._one(name), body, if_match=if_match))

    async def bind(
        self, name: str, hosts: Sequence[str] | None, *, if_match: str | None = None
    ) -> SecretPut:
        """Say where it may go, and nowhere else; None: its next use binds it. Its value stays."""
        body = {"hosts": None if hosts is None else list(hosts)}
        return SecretPut(await self._exchange.put(self._one(name), body, if_match=if_match))

    async def get(self, name: str) -> Secret:
        """Read what is known of it, without its value."""
        return await self._read(Secret, self._one(name))

    def list(self, *, limit: int | None = None) -> Pages[Secret]:
        """List secrets by name, without their values."""
        return self._pages(Secret, {"limit": limit})

    async def delete(self, name: str) -> None:
        """Forget it."""
        await self._exchange.delete(self._one(name))
