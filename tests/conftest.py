"""What every test may ask for: real servers, and a fresh database of its own."""

from __future__ import annotations

import atexit
import gc
import os
import resource
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Generator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests import as_node_role
from windlass.engine.jobs import contention
from windlass.fastlane import lane, marks
from windlass.store.database import Database
from windlass.store.migrate import migrate
from windlass.testing.servers import PrivateServers

# Folders whose tests mostly wait: for processes, for leases to lapse. The others keep a core busy.
WAITING: Final = ("faults", "servers", "embedded", "testing", "cli", "compose")
ROOT: Final = Path(__file__).parent
# What each file took when it was last looked at: `make test ARGS=--keep-durations` writes it.
DURATIONS: Final = ROOT / "durations.tsv"

# Servers that tests start leave a record of where they are in a folder of this run's own, and
# clients find nobody else's.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="windlass-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

# The same examples in every run, however slow the machine: a run says something of the change it
# was made for. `make test ARGS='--hypothesis-profile=default'` looks further.
settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# What `make quick` draws.
settings.register_profile("quick", parent=settings.get_profile("steady"), max_examples=10)
settings.load_profile("steady")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--as-node-role", action="store_true", help="give what is ours least rights")


def pytest_configure(config: pytest.Config) -> None:
    as_node_role.turn_on(config)
    # A shell has what it begins in the background ignore Ctrl-C, and so would all that we begin.
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Its tests take minutes each, and share nothing.
APART: Final = "tests/api/http/test_openapi.py"


class FilesInParts(LoadFileScheduling):  # type: ignore[misc]  # it comes without types
    """A file's tests run one after the other on one worker; those of `APART` on any."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(APART) else nodeid.split("::", 1)[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesInParts | None:
    return FilesInParts(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that wait and files that are busy in turns, so that neither core rests; of each sort
    the longest first, so that no worker is left with one at the end while the others have nothing.
    """
    seconds = dict(line.split("\t") for line in DURATIONS.read_text().splitlines())
    files: dict[str, float] = {}
    for item in items:
        name = item.path.relative_to(ROOT).as_posix()
        files[name] = float(seconds.get(name, 1.0))
    place = {name: n for n, name in enumerate(_in_turns(files))}
    items.sort(key=lambda item: place[item.path.relative_to(ROOT).as_posix()])


def _in_turns(files: dict[str, float]) -> list[str]:
    """By the share of its sort's time that has gone before a file."""
    when: dict[str, float] = {}
    for waits in (True, False):
        sort = {
            name: took for name, took in files.items() if (name.split("/")[0] in WAITING) is waits
        }
        whole, gone = sum(sort.values()) or 1.0, 0.0
        for name in sorted(sort, key=lambda name: (-sort[name], name)):
            when[name] = gone / whole
            gone += sort[name]
    return sorted(when, key=lambda name: (when[name], name))


def pytest_collection_finish() -> None:
    """The tests there are, hundreds of thousands of objects, are not looked through for garbage: a
    walk of the collector takes half a second on a busy machine, in which no loop of ours moves.
    """
    gc.collect()
    gc.freeze()


_CPU_SECONDS: Final = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Each phase of a test reports the processor time that was used since the phase before it."""
    report = yield
    used = sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    session = item.session.stash
    report.user_properties.append(("cpu_seconds", used - session.get(_CPU_SECONDS, used)))
    session[_CPU_SECONDS] = used
    return report


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
    async with PrivateServers(valkey_settings=as_node_role.valkey_settings()) as started:
        yield started


@pytest.fixture(scope="session")
async def template_url(servers: PrivateServers) -> str:
    """A migrated database that nobody connects to: copying it is quicker than migrating again."""
    url = await servers.create_database()
    await migrate(url)
    if as_node_role.is_on:
        await as_node_role.make_role(servers, url)
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
