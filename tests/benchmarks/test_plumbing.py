"""What the figures are read from: a witness that miscounts would make them worth nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from uuid import UUID

import pytest

from benchmarks import child
from benchmarks.figures import start, versus
from benchmarks.figures.sdk.imports import imported
from benchmarks.limits import LATE_SECONDS
from benchmarks.measure import Series, worst
from benchmarks.scale import QUICK
from benchmarks.stage import Stage
from benchmarks.timetable import Faults, judge
from benchmarks.traffic.prober import Request, probe
from benchmarks.traffic.receiver import RunningReceiver, Seen, receiving
from windlass.testing.servers import PrivateServers


def test_the_worst_of_a_series_is_the_one_that_is_judged() -> None:
    figure = worst(Series(name="stall", unit="ms", values=(1.0, 7.0, 2.0)), at_most=5.0)
    assert (figure.value, figure.spread.low, figure.holds) == (7.0, 1.0, False)
    assert worst(Series(name="lost", unit="jobs", values=(0.0, 0.0)), at_most=0.0).holds


@pytest.mark.parametrize(
    ("others", "since", "first_at"),
    [
        (1, 0.0, 10.5),
        (1, 10.6, 20.1),  # neither what came before, nor what came alone
        (2, 0.0, 20.2),
        (3, 0.0, None),
    ],
)
def test_more_at_once_is_seen_by_whoever_comes_while_late_ones_are_under_way(
    others: int, since: float, first_at: float | None
) -> None:
    # All times are multiples of how long a late one takes.
    late, fast = (10.0, 20.0, 20.1), (9.9, 10.5, 12.0, 20.2)
    arrivals = {f"/late/{at}": at * LATE_SECONDS for at in late}
    arrivals |= {f"/fast/{at}": at * LATE_SECONDS for at in fast}
    found = Seen(arrivals=arrivals).first_beside(others, since=since * LATE_SECONDS)
    assert found == (None if first_at is None else first_at * LATE_SECONDS)


async def test_a_receiver_counts_what_comes_again() -> None:
    async with receiving("late") as receiver:
        for path in ("/fast/1", "/fast/2", "/fast/1", "/late/3", "/fast/1"):
            assert await asyncio.to_thread(deliver, receiver, path) == 200
        seen = await receiver.seen()
    assert (set(seen.arrivals), seen.again) == ({"/fast/1", "/fast/2", "/late/3"}, 2)


async def test_a_prober_counts_answers_and_what_is_none() -> None:
    answers = iter((b"200 OK", b"503 Gone"))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers twice, and hangs up on everybody after that."""
        while await reader.read(65_536) and (status := next(answers, None)):
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        told = await probe(Request(address=f"http://{host}:{port}", seconds=4.0))
    assert told.asked > 2
    assert told.unanswered == told.asked - 1
    assert 0 < told.p99_ms <= told.longest_ms


async def test_every_figure_of_a_cluster_can_be_asked_for_by_name() -> None:
    told = await child.run([sys.executable, "-m", "benchmarks", "--help"], seconds_max=60)
    for name in (b"failover", b"resize", b"two-nodes", b"sweep"):
        assert name in told


async def test_every_figure_of_schedules_can_be_asked_for_by_name() -> None:
    told = await child.run([sys.executable, "-m", "benchmarks", "--help"], seconds_max=60)
    for name in (b"schedules-due", b"schedules-steady", b"schedules-kills"):
        assert name in told


async def test_every_figure_of_the_sdk_can_be_asked_for_by_name() -> None:
    told = await child.run([sys.executable, "-m", "benchmarks", "--help"], seconds_max=60)
    for name in (b"sdk-import", b"sdk-map", b"sdk-tasks"):
        assert name in told


async def test_starting_can_be_asked_for_by_name_in_both_ways() -> None:
    told = await child.run([sys.executable, "-m", "benchmarks", "--help"], seconds_max=60)
    assert b"start" in told
    command = [start.WINDLASS, "bench", "start", "--only", "start", "--help"]
    assert b"windlass bench start" in await child.run(command, seconds_max=60)


async def test_a_start_is_timed_from_its_process_to_the_ends_that_the_database_knows(
    servers: PrivateServers,
) -> None:
    told: list[str] = []
    scale = replace(QUICK, node_starts=1)
    stage = Stage(servers=servers, bare_dsn=servers.database_url, scale=scale, tell=told.append)
    found = {figure.name: figure.value for figure in await start.figures(stage)}
    for node in start.NODES:
        first, task = (found[f"{node}: {what}"] for what in (start.FIRST, start.TASK))
        assert 0 < first <= task
        assert found[f"{node}: {start.CPU}"] > 0
    assert all(found[name] > 0 for name in (start.BARE, start.HELP, start.ASK))
    assert len(told) == 1


async def test_a_fresh_interpreter_tells_what_it_imported_and_how_long_that_took() -> None:
    alone = await imported("import windlass")
    assert alone.ms > 0
    assert alone.modules == []
    assert (await imported("import windlass, asyncpg, redis")).modules == ["asyncpg", "redis"]


@pytest.mark.parametrize(
    ("ledger", "jobs", "missed", "doubled"),
    [
        ([(0, 1), (1, 2)], [1, 2], 0, 0),
        ([(0, 1)], [1], 1, 0),
        ([(0, 1), (1, None)], [1], 1, 0),  # skipped
        ([(0, 1), (1, 2)], [1], 1, 0),  # its job is gone
        ([(0, 1), (1, 1)], [1], 1, 0),  # one job for two
        ([(0, 1), (1, 2)], [1, 2, 3], 0, 1),  # a job that the ledger does not know
        ([(0, 1), (1, 2), (2, 3)], [1, 2, 3], 0, 1),  # nothing was due
        ([(0, 1)], [1, 1], 1, 1),  # there, and in the history as well
    ],
)
def test_a_ledger_is_judged_by_what_was_due(
    ledger: list[tuple[int, int | None]], jobs: list[int], missed: int, doubled: int
) -> None:
    schedule, start = UUID(int=100), datetime(2030, 1, 1, tzinfo=UTC)
    instants = [start + timedelta(seconds=second) for second in range(3)]
    firings = [(schedule, instants[n], None if job is None else UUID(int=job)) for n, job in ledger]
    due = {(schedule, instant) for instant in instants[:2]}
    found = judge(due, firings, [UUID(int=job) for job in jobs])
    assert found == Faults(missed=missed, doubled=doubled)


def deliver(receiver: RunningReceiver, path: str) -> int:
    connection = HTTPConnection("127.0.0.1", receiver.port, timeout=10)
    try:
        connection.request("POST", path, body=b"{}")
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (["jobs", "--only", "nothing"], "there is no figure 'nothing'; there are: "),
        (["versus", str(child.ROOT)], "is this checkout itself"),
        (["versus", "."], "run `make setup` in a checkout"),
    ],
)
def test_the_command_finds_the_benchmarks_wherever_it_is_called(
    tmp_path: Path, asked: list[str], answer: str
) -> None:
    command = [str(Path(sys.executable).with_name("windlass")), "bench", *asked]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said.returncode == 2, said.stderr
    assert answer in said.stderr


async def test_two_checkouts_are_measured_in_turns_on_the_same_servers(
    servers: PrivateServers, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.symlink_to(child.ROOT)
    told: list[str] = []
    scale = replace(QUICK, other=other, turns_max=1)
    stage = Stage(servers=servers, bare_dsn=servers.database_url, scale=scale, tell=told.append)
    p50, p99 = await versus.latency(stage)
    assert p50.ratio is not None
    assert p50.ratio > 0
    assert p50.value <= p99.value
    assert [line.partition(":")[0] for line in told] == ["submit to start"] * 2
