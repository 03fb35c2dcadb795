"""What a test can ask of `windlass_local`: running, looking, faking, capturing."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

import windlass
from tests.testing.shop import again, app, book, charge, dawdle, draw, place, receipt, release
from windlass.testing.local import LocalMaker
from windlass.testing.local_gate import Captured
from windlass.testing.local_quiet import NotQuiet
from windlass.testing.local_transport import NothingMoves


def test_nothing_runs_until_somebody_drains(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    handle = place.enqueue(1)
    assert handle.state() == "queued"
    ran = local.drain()
    assert [(job.task, job.state) for job in ran] == [
        ("place", "succeeded"),
        ("receipt", "succeeded"),
    ]
    assert ran[1].result == "receipt 1 for 1@example.org"
    assert local.drain() == []


def test_waiting_for_a_result_lets_the_node_run(windlass_local: LocalMaker) -> None:
    windlass_local(app)
    handles = [charge.enqueue(cents) for cents in range(3)]
    assert handles[0].result() == 0
    done, pending = windlass.wait(handles, timeout=20)
    assert [handle.result() for handle in done] == [0, 1, 2]
    assert pending == []


async def test_async_tests_await_the_same_verbs(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    handle = await place.aenqueue(2)
    assert len(await local.adrain()) == 2
    assert await handle == "placed 2"
    assert [job.state for job in await local.ajobs(task=receipt)] == ["succeeded"]
    second = await charge.aenqueue(5)
    assert await asyncio.wait_for(second.aresult(), 20) == 5


@pytest.mark.parametrize("number", [1, 2])
def test_a_test_finds_nothing_of_the_one_before(windlass_local: LocalMaker, number: int) -> None:
    local = windlass_local(app)
    assert local.jobs() == []
    assert local.calls(charge) == []
    assert list(app.blocking.queues.list()) == []
    handle = charge.using(key="once").enqueue(number)
    local.drain()
    assert handle.result() == number
    assert len(local.jobs(task=charge, state="succeeded")) == 1


def test_calls_are_counted_with_the_arguments_that_the_function_got(
    windlass_local: LocalMaker,
) -> None:
    local = windlass_local(app)
    receipt.enqueue(7, to="a@b.c")
    place(8)  # a plain call, which makes a job of another task
    local.drain()
    assert local.calls(receipt) == [((7,), {"to": "a@b.c"}), ((8,), {"to": "8@example.org"})]
    assert local.calls("place") == []


def test_an_isolated_task_runs_where_the_test_sees_it(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    handle = draw.enqueue("ink")
    local.drain()
    assert handle.result() == "INK"
    assert local.calls(draw) == [(("ink",), {})]


def test_a_fake_answers_instead_of_the_task(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    with local.fake(receipt, returns="faked") as fake:
        place.enqueue(3)
        local.drain()
        assert fake.calls == [((3,), {"to": "3@example.org"})]
        assert local.jobs(task=receipt)[0].result == "faked"
    handle = receipt.enqueue(4, to="x")
    assert handle.result() == "receipt 4 for x"
    assert len(local.calls(receipt)) == 2


def test_what_a_fake_raises_is_retried_as_ever(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    local.fake(charge, returns=1, raises=[ConnectionError("away"), windlass.RetryAfter("5h")])
    handle = charge.enqueue(1)
    local.drain()
    [job] = local.jobs()
    assert (job.state, job.attempt, job.error["cause"]) == ("queued", 1, "ConnectionError")
    local.advance("10m")
    assert local.jobs()[0].attempt == 2
    local.advance("1h")
    assert local.jobs()[0].attempt == 2
    local.advance("4h")
    assert handle.result() == 1
    assert len(local.calls(charge)) == 3


def test_a_fake_that_gives_up_leaves_a_dead_job_with_its_cause(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    local.fake(charge, raises=windlass.Drop("card is stolen"))
    handle = charge.enqueue(1)
    local.drain()
    with pytest.raises(windlass.JobFailed, match="card is stolen"):
        handle.result()


def test_what_is_captured_is_recorded_and_never_runs(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    with local.capture() as jobs:
        place(9)
        handle = charge.using(queue="money", run_after="1h", priority="high").enqueue(5)
        assert len(jobs) == 2
        with pytest.raises(Captured, match="inside capture"):
            local.drain()
    assert [(job.task, job.args, job.kwargs) for job in jobs] == [
        ("receipt", [9], {"to": "9@example.org"}),
        ("charge", [5], {}),
    ]
    assert (jobs[1].queue, jobs[1].priority) == ("money", "high")
    local.advance("2h")
    assert handle.state() == "cancelled"
    assert local.calls(receipt) == local.calls(charge) == []


async def test_async_code_is_captured_too(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    async with local.acapture() as jobs:
        await charge.aenqueue(6)
    assert [job.args for job in jobs] == [[6]]


def test_what_a_task_writes_in_its_own_transaction_is_there_with_its_end(
    windlass_local: LocalMaker,
) -> None:
    local = windlass_local(app)
    with psycopg.connect(local.database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE public.booking (cents integer)")
        try:
            good, bad = book.enqueue(9), book.enqueue(-1)
            local.drain()
            assert connection.execute("SELECT cents FROM public.booking").fetchall() == [(9,)]
        finally:
            connection.execute("DROP TABLE public.booking")
    assert (good.result(), bad.state()) == (1, "dead")
    assert [line["message"] for line in good.logs()] == ["booked"]


def test_work_that_does_not_end_is_named(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    release.clear()
    handle = dawdle.enqueue()
    try:
        with pytest.raises(NotQuiet, match=f"within 3 seconds; these run: {handle.id}"):
            local.drain(timeout=3)
    finally:
        release.set()
    local.drain()
    assert handle.state() == "succeeded"


def test_work_that_keeps_making_work_is_told(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    again.enqueue()
    with pytest.raises(NotQuiet):
        local.drain(timeout=0.5)


def test_waiting_for_what_only_time_can_bring_says_so(
    windlass_local: LocalMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windlass.testing.local_transport.PATIENCE_SECONDS", 0.2)
    windlass_local(app, at="2031-05-01T12:00:00Z")
    handle = charge.using(run_after="1d").enqueue(1)
    with pytest.raises(NothingMoves, match=r"next thing is due at 2031-05-02 12:00:\d\dZ: advance"):
        handle.result()


def test_an_app_reaches_the_test_s_node_wherever_it_would_go_otherwise(
    windlass_local: LocalMaker,
) -> None:
    other = windlass.App("other", url="http://127.0.0.1:9")

    @other.task
    def twice(number: int) -> int:
        return 2 * number

    windlass_local(app)
    windlass_local(other)  # two Apps share a node, as they may share a cluster
    assert (twice.enqueue(4).result(), charge.enqueue(4).result()) == (8, 4)
