"""Figures beside peers: what is measured of Windlass, and what becomes of a peer not found here."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import child, cpu
from benchmarks.figures.beside import chain_peers, drain_async, execution_starts, sdk_latency
from benchmarks.measure import Figure
from benchmarks.peers import bullmq, celery, graphile, npm, pgqueuer
from benchmarks.peers.valkey import Keyspace
from benchmarks.scale import QUICK
from benchmarks.stage import Stage
from benchmarks.traffic import starts
from benchmarks.traffic.starts import Order, Sent
from windlass.testing.servers import PrivateServers

PEERS = (graphile.FOLDER, bullmq.FOLDER)
SMALL = replace(
    QUICK, rounds=1, client_jobs=10, write_jobs=200, peer_chains=5, execution_starts=200
)


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def stage(servers: PrivateServers, told: list[str]) -> Stage:
    return Stage(servers=servers, bare_dsn=servers.database_url, scale=SMALL, tell=told.append)


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither a Node nor a package from PyPI that is only there for benchmarks."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for peer in (pgqueuer, celery):
        monkeypatch.setattr(peer, "find_spec", lambda _name: None)


async def test_every_figure_beside_peers_can_be_asked_for_by_name() -> None:
    told = await child.run([sys.executable, "-m", "benchmarks", "--help"], seconds_max=60)
    for name in (b"sdk-latency", b"drain-async", b"execution-starts", b"chain-peers"):
        assert name in told


def test_a_latency_is_that_of_the_jobs_that_count() -> None:
    order = Order(path="", jobs=3, warm_up=1)
    sent = Sent(at=[10.0, 20.0, 30.0, 40.0])
    # In the order in which they began; the one that warms up took longest.
    found = starts.latency(order, sent, "1 20.001\n0 19.0\n3 40.003\n2 30.002\n")
    assert found.jobs == 3
    assert found.p50_ms == pytest.approx(2.0)
    assert found.max_ms == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("at", "notes", "complaint"),
    [
        ([1.0], "0 1.5\n1 2.5\n", "1 of 2 jobs were submitted"),
        ([1.0, 2.0], "0 1.5\n", "1 of 2 jobs began"),
        ([1.0, 2.0], "0 1.5\n1 2.5\n1 2.6\n", "3 starts of 2 jobs"),
    ],
)
def test_a_job_that_is_lost_or_began_twice_is_no_latency(
    at: list[float], notes: str, complaint: str
) -> None:
    with pytest.raises(AssertionError, match=complaint):
        starts.latency(Order(path="", jobs=1, warm_up=1), Sent(at=at), notes)


async def test_calls_are_made_in_order_and_none_before_its_instant() -> None:
    called: list[tuple[str, int]] = []

    async def submit(path: str, number: int) -> None:
        called.append((path, number))

    order = Order(path="there", jobs=3, warm_up=1, per_second=100)
    before = time.monotonic()
    sent = await starts.submit_all(order, submit)
    assert called == [("there", number) for number in range(4)]
    clock_error = 0.005  # a loop counts whole milliseconds
    assert all(at > before + number / 100 - clock_error for number, at in enumerate(sent.at))


def test_a_keyspace_is_read_from_the_address_that_nodes_are_given(
    servers: PrivateServers,
) -> None:
    found = Keyspace.at(f"{servers.redis_url}?db=7")
    assert found.db == 7
    assert Path(found.path).is_socket()
    assert found.password in servers.redis_url
    assert Keyspace.at(servers.redis_url).db == 0


def test_what_a_process_used_includes_those_that_it_started_and_that_have_ended() -> None:
    before = cpu.used(os.getpid())
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", burn]) == 0
    assert cpu.used(os.getpid()) - before >= 0.3


@pytest.mark.parametrize("folder", PEERS, ids=lambda folder: folder.name)
def test_a_lock_of_npm_names_versions_and_no_addresses(folder: Path) -> None:
    lock = json.loads((folder / "package-lock.json").read_text())
    wanted = json.loads((folder / "package.json").read_text())["dependencies"]
    assert lock["packages"][""]["dependencies"] == wanted
    assert "resolved" not in (folder / "package-lock.json").read_text()
    for name, version in wanted.items():
        assert lock["packages"][f"node_modules/{name}"]["version"] == version


@pytest.mark.parametrize("folder", PEERS, ids=lambda folder: folder.name)
def test_every_script_that_a_peer_is_run_by_is_there(folder: Path) -> None:
    source = Path(npm.__file__).with_name(f"{folder.name}.py").read_text()
    scripts = re.findall(r'"(\w+\.mjs)"', source)
    assert scripts
    for name in scripts:
        assert (folder / name).is_file()


@pytest.mark.usefixtures("nothing_installed")
async def test_a_peer_that_is_not_here_says_why_and_is_left_out(
    servers: PrivateServers, told: list[str]
) -> None:
    url = servers.redis_url
    tell = told.append
    assert await pgqueuer.submit_to_start("", jobs=1, tell=tell) is None
    assert await pgqueuer.drain("", jobs=1, task="write", tell=tell) is None
    assert await graphile.submit_to_start("", jobs=1, tell=tell) is None
    assert await graphile.drain("", jobs=1, task="write", tell=tell) is None
    assert await bullmq.submit_to_start(url, jobs=1, tell=tell) is None
    assert await bullmq.run_chains(url, chains=1, steps=1, tell=tell) is None
    assert await celery.submit_to_start(url, jobs=1, tell=tell) is None
    assert [line.split(" is left out: ")[0] for line in told] == [
        *("PgQueuer", "PgQueuer", "graphile-worker", "graphile-worker"),
        *("BullMQ", "BullMQ", "Celery"),
    ]


@pytest.mark.usefixtures("nothing_installed")
async def test_the_latency_of_the_sdk_is_measured_without_peers_too(stage: Stage) -> None:
    p50, p99, first = await sdk_latency.figures(stage)
    assert 0 < p50.value <= p99.value
    assert (p50.ratio, p99.ratio) == (None, None)
    assert 0 < first.spread.low <= first.value <= first.spread.high
    assert first.at_most == sdk_latency.FIRST_CALL_MS_MAX


async def test_celery_performs_what_its_own_client_submits(stage: Stage, told: list[str]) -> None:
    keys = stage.servers.redis_of(await stage.servers.create_database())
    latency = await celery.submit_to_start(keys, jobs=5, tell=told.append)
    assert latency is not None, told
    assert 0 < latency.p50_ms <= latency.max_ms


@pytest.mark.usefixtures("nothing_installed")
async def test_a_drain_of_async_tasks_tells_its_rate_and_its_cpu(stage: Stage) -> None:
    rate, worker, postgres = await drain_async.figures(stage)
    assert min(rate.value, worker.value, postgres.value) > 0
    assert [figure.unit for figure in (rate, worker, postgres)] == [
        *("jobs/s", "s/1,000 jobs", "s/1,000 jobs"),
    ]


async def test_starts_of_executions_are_measured_beside_jobs_of_the_same_node(
    stage: Stage, told: list[str]
) -> None:
    figures: list[Figure] = await execution_starts.figures(stage)
    assert len(figures) == len(execution_starts.NODES)
    assert all(figure.ratio and figure.at_least for figure in figures)
    assert len(told) == 2 * len(figures)


@pytest.mark.usefixtures("nothing_installed")
async def test_chains_are_run_to_their_end_without_the_peer_too(
    stage: Stage, told: list[str]
) -> None:
    figures = await chain_peers.figures(stage)
    assert len(figures) == len(chain_peers.PAIRS)
    for figure in figures:
        assert figure.value > 0
        assert (figure.unit, figure.ratio) == ("chains/s", None)
    assert told[1].startswith("BullMQ is left out: there is no node")
