"""What every test may ask for: real servers, and a fresh database of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from windlass.engine.jobs import contention
from windlass.fastlane import lane, marks
from windlass.store.database import Database
from windlass.store.migrate import migrate
from windlass.testing.servers import PrivateServers

# Folders whose files take long, mostly waiting for processes. They go first, so that no worker is
# left with one of them at the end while the others have nothing to do.
SLOW: Final = ("faults", "servers", "cli", "sdk", "testing", "api", "embedded", "runtime")
ROOT: Final = Path(__file__).parent

# The same examples in every run, however slow the machine: a run says something of the change it
# was made for. `make test ARGS='--hypothesis-profile=default'` looks further.
settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# What `make quick` draws.
settings.register_profile("quick", parent=settings.get_profile("steady"), max_examples=10)
settings.load_profile("steady")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        folder = item.path.relative_to(ROOT).parts[0]
        return SLOW.index(folder) if folder in SLOW else len(SLOW)

    items.sort(key=rank)


@pytest.fixture
def patient_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what Redis is asked, in which a pause of the machine is not to be an outage."""
    monkeypatch.setattr(lane, "FASTLANE_CALL_SECONDS", 10.0)
    monkeypatch.setattr(lane, "FASTLANE_CONNECT_SECONDS", 10.0)
    monkeypatch.setattr(marks, "REFRESH_CALL_SECONDS", 10.0)


@pytest.fixture
def patient_door(monkeypatch: pytest.MonkeyPatch) -> None:
    """For crowds that want the same row, of whom nobody is to be sent away before its turn."""
    monkeypatch.setattr(contention, "ENQUEUE_HELD_SECONDS", 60.0)


@pytest.fixture(scope="session")
async def servers() -> AsyncIterator[PrivateServers]:
    """One PostgreSQL and one Valkey for the whole run."""
    async with PrivateServers() as started:
        yield started


@pytest.fixture(scope="session")
async def template_url(servers: PrivateServers) -> str:
    """A migrated database that nobody connects to: copying it is quicker than migrating again."""
    url = await servers.create_database()
    await migrate(url)
    return url


@pytest.fixture
async def database_url(servers: PrivateServers, template_url: str) -> AsyncIterator[str]:
    """A migrated database that no other test sees, and that is gone afterwards: with hundreds of
    databases everything takes longer.
    """
    url = await servers.create_database(template_url)
    yield url
    await servers.drop_database(url)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = Database(database_url, application="windlass test")
    await opened.open()
    yield opened
    await opened.close()
