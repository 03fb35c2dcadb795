"""What a runbook gives its reader to type and to paste works, and shows what it says."""

from __future__ import annotations

import pytest

from tests.docs.conftest import Follow
from tests.docs.follow import Reader
from tests.docs.readers import RUNBOOKS


@pytest.mark.timeout(300)
@pytest.mark.parametrize("reader", RUNBOOKS, ids=lambda reader: reader.page)
async def test_a_runbook_is_followed_from_its_top_to_its_end(
    reader: Reader, followed: Follow
) -> None:
    await followed(reader)
