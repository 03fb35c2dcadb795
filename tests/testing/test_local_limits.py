"""Limits, unique jobs and debounce under the virtual clock: minutes pass in a moment."""

from __future__ import annotations

import windlass
from windlass.testing.local import LocalMaker

limited = windlass.App("limited")


@limited.task(rate="6/h", per="customer")
def sync(customer: str) -> str:
    return customer


@limited.task(unique_for="10m")
def remind(user: int) -> None: ...


@limited.task(debounce="30s", debounce_max="100s", unique_by="document")
def index(document: str, revision: int) -> int:
    return revision


def test_a_rate_goes_by_the_clock_that_the_test_sets(windlass_local: LocalMaker) -> None:
    local = windlass_local(limited)
    sync.map(["ada", "ada", "ada", "bob"])
    assert sorted(job.args[0] for job in local.drain()) == ["ada", "bob"]
    assert [job.args for job in local.advance("9m")] == []
    assert [job.args for job in local.advance("2m")] == [["ada"]]
    assert [job.args for job in local.advance("10m")] == [["ada"]]


def test_a_key_is_free_when_its_time_is_over(windlass_local: LocalMaker) -> None:
    local = windlass_local(limited)
    first = remind.enqueue(1)
    local.drain()
    assert remind.enqueue(1).id == first.id
    local.advance("11m")
    assert remind.enqueue(1).id != first.id


def test_a_debounced_job_runs_once_things_are_quiet(windlass_local: LocalMaker) -> None:
    local = windlass_local(limited)
    first = index.enqueue("d", 1)
    for revision in (2, 3):
        local.advance("20s")
        assert index.enqueue("d", revision).id == first.id
    [job] = local.advance("31s")
    assert job.args == ["d", 3]


def test_a_debounced_job_is_put_off_for_so_long_and_no_longer(windlass_local: LocalMaker) -> None:
    local = windlass_local(limited)
    made = [index.enqueue("d", 0).id]
    ran: list[int] = []
    for revision in range(1, 7):
        ran += [job.args[1] for job in local.advance("20s")]
        made.append(index.enqueue("d", revision).id)
    assert ran == [4], "a hundred seconds after the first"
    assert [made.count(one) for one in dict.fromkeys(made)] == [5, 2]
