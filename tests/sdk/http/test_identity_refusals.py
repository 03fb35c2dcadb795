"""What nobody gets by asking the API of identity in a way that was not meant."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.sdk.conftest import Server
from windlass import errors
from windlass.sdk.http.async_client import AsyncClient


def fresh(word: str) -> str:
    return f"{word}-{uuid4().hex[:8]}"


# -- a token that ends gets none that outlives it --------------------------------------------------


@pytest.mark.parametrize("other_ends", ["2h", None])
async def test_a_key_that_ends_gets_no_token_that_outlives_it(
    async_client: AsyncClient, server: Server, other_ends: str | None
) -> None:
    short = await async_client.keys.add(fresh("short"), role="admin", expires_in="1h")
    other = await async_client.keys.add(fresh("other"), role="viewer", expires_in=other_ends)
    sooner = await async_client.keys.add(fresh("sooner"), role="viewer", expires_in="30m")
    async with AsyncClient(server.url, short.token) as key:
        with pytest.raises(errors.Forbidden, match="good for longer"):
            await key.keys.rotate(other.id)
        assert (await key.keys.rotate(sooner.id)).id == sooner.id
        assert (await key.keys.rotate(short.id)).expires_at == short.expires_at


async def test_a_token_that_was_replaced_gets_no_other_one(
    async_client: AsyncClient, server: Server
) -> None:
    """Or whoever has found it would have one that stays, and its owner rotated in vain."""
    first = await async_client.keys.add(fresh("leaked"), role="admin")
    second = await async_client.keys.rotate(first.id, "1h")
    async with AsyncClient(server.url, first.token) as thief:
        with pytest.raises(errors.Forbidden):
            await thief.keys.rotate(first.id)
    async with AsyncClient(server.url, second.token) as owner:
        assert (await owner.keys.rotate(first.id)).id == first.id


# -- sessions of nobody ----------------------------------------------------------------------------


@pytest.mark.parametrize("user", [None, "all", "no name"])
async def test_whose_sessions_are_to_end_has_to_be_said(
    async_client: AsyncClient, user: str | None
) -> None:
    with pytest.raises(errors.InvalidInput) as refused:
        await async_client.sessions.end_all(user)
    assert "user" in refused.value.problems[0].pointer
