"""API keys: made with a role or scopes, rotated with an overlap, revoked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from windlass.sdk.http.paging import Pages
from windlass.sdk.nouns.noun import Duration, Instant, Noun, given
from windlass.sdk.objects.identity import Key, MadeKey


class Keys(Noun):
    """API keys: with a role or with scopes, one's own or for machines."""

    path: ClassVar[str] = "/v1/keys"

    async def add(
        self,
        name: str,
        *,
        role: str | None = None,  # None: it has scopes
        scopes: Sequence[str] | None = None,  # rights such as jobs:submit; None: those of the role
        queues: Sequence[str] | None = None,  # None: not confined to any, or to workflows only
        workflows: Sequence[str] | None = None,  # None: not confined to any, or to queues only
        expires_at: Instant | None = None,  # None: never, or so long from now on
        expires_in: Duration | None = None,
        is_personal: bool | None = None,  # None: for a machine, if one may make such keys
        quota: Mapping[str, float | None] | None = None,  # such as {"requests_per_second": 20}
    ) -> MadeKey:
        """Make a key; its token is answered this once."""
        confined = {
            name: list(found)
            for name, found in (("scopes", scopes), ("queues", queues), ("workflows", workflows))
            if found is not None
        }
        body = given(
            name=name,
            role=role,
            expires_at=expires_at,
            expires_in=expires_in,
            is_personal=is_personal,
            quota=quota,
            **confined,
        )
        return MadeKey(await self._exchange.post(self.path, body))

    async def get(self, key_id: str) -> Key:
        """Read what may be known of one, without its token."""
        return await self._read(Key, self._one(key_id))

    def list(
        self,
        *,
        user: str | None = None,  # by name or id; None: one's own, or all for who may edit keys
        limit: int | None = None,
    ) -> Pages[Key]:
        """List keys, oldest first."""
        return self._pages(Key, {"user": user, "limit": limit})

    async def change(
        self,
        key_id: str,
        *,
        name: str | None = None,  # None: as before
        quota: Mapping[str, float | None] | None = None,  # what is named changes; None takes away
    ) -> Key:
        """Give it another name or quota; what it may stays as it is."""
        body = given(name=name, quota=quota)
        return Key(await self._exchange.patch(self._one(key_id), body))

    async def rotate(
        self,
        key_id: str,
        overlap: Duration | None = None,  # how long the token before is good as well
    ) -> MadeKey:
        """Give it another token, which is answered this once."""
        return await self._verb(MadeKey, key_id, "rotate", given(overlap=overlap))

    async def revoke(self, key_id: str) -> None:
        """Let it open nothing any more."""
        await self._exchange.delete(self._one(key_id))
