"""A key that ends makes none that outlives it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.served import Served


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({}, 422),
        ({"expires_in": "2h"}, 422),
        ({"expires_at": "2999-01-01T00:00:00Z"}, 422),
        ({"expires_at": "2001-01-01T00:00:00Z"}, 422),
        ({"expires_in": "30m"}, 201),
    ],
)
async def test_a_key_that_ends_makes_none_that_outlives_it(
    api: Served, asked: dict[str, Any], status: int
) -> None:
    mine = await api.post("/v1/keys", {"name": "mine", "role": "admin", "expires_in": "1h"}, 201)
    made = await api.post(
        "/v1/keys",
        {"name": "next", "role": "viewer", **asked},
        status,
        headers={"Authorization": f"Bearer {mine['token']}"},
    )
    if status == 422:
        assert [problem["pointer"] for problem in made["errors"]] == ["/expires_at"]
    else:
        assert made["expires_at"] < mine["expires_at"]
