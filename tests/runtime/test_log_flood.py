"""A flood of lines alike is a few lines and a number; an outage is said once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from windlass.limits import LOG_ALIKE_MAX, LOG_KINDS_MAX, LOG_WINDOW_SECONDS
from windlass.telemetry import outage
from windlass.telemetry.flood import FloodGate
from windlass.telemetry.outage import BLIP_SECONDS, Outage, reason_text

KIND = ("job_dead", "send", "ValueError")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(outage, "monotonic", clock)
    return clock


def admitted(gate: FloodGate, count: int, kind: tuple[str, ...] = KIND) -> int:
    return sum(gate.admits(kind, "error") for _ in range(count))


def test_the_first_lines_of_a_kind_are_written_and_the_rest_summed_up(clock: Clock) -> None:
    gate = FloodGate(clock)
    with capture_logs() as said:
        assert admitted(gate, 100) == LOG_ALIKE_MAX
        assert said == []
        clock.now += LOG_WINDOW_SECONDS
        assert admitted(gate, 1) == 1, "a new window has begun"
    [line] = said
    assert (line["event"], line["log_level"], line["of"]) == (
        *("lines_left_out", "error"),
        "send: ValueError",
    )
    assert line["count"] == 100 - LOG_ALIKE_MAX


def test_kinds_do_not_count_for_each_other(clock: Clock) -> None:
    gate = FloodGate(clock)
    assert admitted(gate, 100) == LOG_ALIKE_MAX
    assert admitted(gate, 100, ("job_dead", "pack", "ValueError")) == LOG_ALIKE_MAX


def test_however_many_kinds_there_are_the_gate_is_bounded(clock: Clock) -> None:
    gate = FloodGate(clock)
    kinds = [("job_dead", f"task{n}", "ValueError") for n in range(2 * LOG_KINDS_MAX)]
    assert sum(admitted(gate, 1, kind) for kind in kinds) == LOG_KINDS_MAX + LOG_ALIKE_MAX
    with capture_logs() as said:
        gate.flush()
    [line] = said
    assert line["count"] == LOG_KINDS_MAX - LOG_ALIKE_MAX


async def test_a_flood_that_stops_is_summed_up_by_itself(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, loop = FloodGate(clock), asyncio.get_running_loop()
    later: list[tuple[float, Any]] = []
    monkeypatch.setattr(loop, "call_later", lambda rest, call: later.append((rest, call)))
    admitted(gate, 100)
    [(rest, call)] = later
    assert rest == LOG_WINDOW_SECONDS
    clock.now += rest
    with capture_logs() as said:
        call()
    assert [line["count"] for line in said] == [100 - LOG_ALIKE_MAX]


def test_a_gate_that_is_open_leaves_nothing_out(clock: Clock) -> None:
    gate = FloodGate(clock)
    gate.is_open = True
    assert admitted(gate, 1_000) == 1_000


def test_an_outage_is_said_once_and_once_when_it_is_over(clock: Clock) -> None:
    server = Outage("postgresql")
    with capture_logs() as said:
        for _ in range(100):
            server.failed("db:5432", "connection refused", is_certain=True)
        clock.now += 12
        server.answered("db:5432")
        server.answered("db:5432")
    assert [line["event"] for line in said] == ["postgresql_away", "postgresql_back"]
    assert (said[0]["reason"], said[1]["seconds"]) == ("connection refused", 12)


def test_a_broken_connection_is_no_outage_unless_what_follows_fails_as_well(clock: Clock) -> None:
    server = Outage("postgresql")
    with capture_logs() as said:
        server.failed("db:5432", "it closed the connection", is_certain=False)
        assert server.is_on
        server.answered("db:5432")
        server.failed("db:5432", "it closed the connection", is_certain=False)
        clock.now += BLIP_SECONDS
        assert said == []
        server.failed("db:5432", "no answer in time", is_certain=False)
    assert [line["reason"] for line in said] == ["no answer in time"]


def test_a_reason_is_in_the_words_of_the_system() -> None:
    trouble = RuntimeError("a library's own words")
    trouble.__cause__ = ConnectionRefusedError(111, "Connect call failed ('10.0.0.1', 5432)")
    assert reason_text(trouble) == "connection refused"
    assert reason_text(RuntimeError("password authentication failed")) == (
        "password authentication failed"
    )
