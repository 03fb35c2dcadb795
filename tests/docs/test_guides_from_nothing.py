"""What docs/*.md gives its reader to type and to paste works, and shows what it says.

Here are the guides that begin with `windlass up`; the others are in tests/docs/test_guides.py.
"""

from __future__ import annotations

import pytest

from tests.docs.conftest import Follow
from tests.docs.follow import Reader
from tests.docs.readers import GUIDES

FROM_NOTHING = [reader for reader in GUIDES if not reader.node]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("reader", FROM_NOTHING, ids=lambda reader: reader.page)
async def test_a_guide_is_followed_from_nothing_to_its_end(
    reader: Reader, followed: Follow
) -> None:
    await followed(reader)
