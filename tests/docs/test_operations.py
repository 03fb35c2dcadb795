"""What docs/operations.md gives to type works, and shows what it says."""

from __future__ import annotations

import pytest

from tests.docs.conftest import Follow
from tests.docs.follow import Reader
from tests.docs.readers import OPERATIONS


@pytest.mark.timeout(300)
@pytest.mark.parametrize("reader", OPERATIONS, ids=lambda reader: reader.page)
async def test_a_page_is_followed_from_its_top_to_its_end(reader: Reader, followed: Follow) -> None:
    await followed(reader)
