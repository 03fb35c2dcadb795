"""Users: people who log in, and their roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from windlass.sdk.http.paging import Pages
from windlass.sdk.nouns.noun import Noun, given
from windlass.sdk.objects.identity import User, UserPassword


class Users(Noun):
    """People who log in, and their roles; for admins. One is meant by its name or by its id."""

    path: ClassVar[str] = "/v1/users"

    async def add(
        self,
        name: str,
        role: str,  # viewer, operator, editor, admin
        password: str | None = None,  # None: a one-time password is made, and answered this once
    ) -> UserPassword:
        """Make a user."""
        body = given(name=name, role=role, password=password)
        return UserPassword(await self._exchange.post(self.path, body))

    async def get(self, user: str) -> User:
        """Read one."""
        return await self._read(User, self._one(user))

    def list(self, *, limit: int | None = None) -> Pages[User]:
        """List users by name."""
        return self._pages(User, {"limit": limit})

    async def change(
        self,
        user: str,
        *,
        role: str | None = None,  # None: as before
        is_disabled: bool | None = None,  # None: as before
        quota: Mapping[str, float | None] | None = None,  # what is named changes; None takes away
        if_match: str | None = None,
    ) -> User:
        """Give it another role, keep it out or let it in again: its sessions end; or a quota, such
        as `{"jobs_per_day": 50_000}`.
        """
        body = given(role=role, is_disabled=is_disabled, quota=quota)
        return User(await self._exchange.patch(self._one(user), body, if_match=if_match))

    async def reset_password(self, user: str) -> UserPassword:
        """Give it a one-time password, which is answered this once; its sessions end."""
        return await self._verb(UserPassword, user, "reset-password")

    async def delete(self, user: str) -> None:
        """Delete it, with its sessions and its keys."""
        await self._exchange.delete(self._one(user))
