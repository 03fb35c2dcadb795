"""The pytest plugin: the fixture `windlass_local`.

It is loaded with every run of pytest where Windlass is installed, so nothing heavy is imported
before a test asks for the fixture.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from windlass.testing.local import LocalMaker

_RUNNING = "windlass.testing.local_run"


@pytest.fixture
def windlass_local() -> Iterator[LocalMaker]:
    """`windlass_local(app)`: the App on a real node, whose time the test decides."""
    from windlass.extras import ServerNotInstalled, server_parts

    try:
        with server_parts("the fixture windlass_local"):
            from windlass.testing.local_run import one_test
    except ServerNotInstalled as trouble:
        pytest.fail(str(trouble), pytrace=False)

    with one_test() as make:
        yield make


def pytest_unconfigure() -> None:
    if (module := sys.modules.get(_RUNNING)) is not None:
        module.close()
