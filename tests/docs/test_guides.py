"""What docs/*.md gives its reader to type and to paste works, and shows what it says.

Here are the guides for whose readers a Windlass is up; in tests/docs/test_guides_from_nothing.py
those which begin with one.
"""

from __future__ import annotations

import pytest

from tests.docs.conftest import Follow
from tests.docs.follow import Reader
from tests.docs.readers import GUIDES

WITH_A_NODE = [reader for reader in GUIDES if reader.node]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("reader", WITH_A_NODE, ids=lambda reader: reader.page)
async def test_a_guide_is_followed_from_its_top_to_its_end(
    reader: Reader, followed: Follow
) -> None:
    await followed(reader)
