"""What a worker has claimed ahead: what was rescued goes first, and does not wait here for long."""

from __future__ import annotations

from tests.model.job.attempts import attempt
from windlass.clock import monotonic
from windlass.limits import PREFETCH_HOLD_SECONDS, RESCUED_HOLD_SECONDS
from windlass.model.job.attempt import Attempt
from windlass.runtime.worker.buffer import Buffer


def filled(*entries: tuple[float, Attempt]) -> Buffer:
    """In the order in which they came, each so many seconds ago."""
    buffer = Buffer(ahead=4)
    for seconds_ago, one in entries:
        buffer.take_in(monotonic() - seconds_ago, one)
    return buffer


def test_what_was_rescued_goes_before_what_was_there() -> None:
    first, second, rescued = attempt(), attempt(), attempt(crashes=1)
    buffer = filled((0, first), (0, second), (0, rescued))
    assert [buffer.popleft()[1] for _ in range(3)] == [rescued, first, second]


def test_what_was_rescued_goes_back_when_no_slot_takes_it_soon() -> None:
    rescued, other = attempt(crashes=1), attempt()
    buffer = filled((RESCUED_HOLD_SECONDS + 0.1, other), (RESCUED_HOLD_SECONDS + 0.1, rescued))
    assert buffer.take_stale() == [rescued]
    assert [one for _, one in buffer] == [other]
    assert buffer.ahead == 0, "or it would be claimed ahead again at once"


def test_what_waits_too_long_is_found_behind_what_was_put_before_it() -> None:
    old, rescued = attempt(), attempt(crashes=1)
    buffer = filled((PREFETCH_HOLD_SECONDS + 1, old), (0, rescued))
    assert buffer.take_stale() == [old]
    assert [one for _, one in buffer] == [rescued]


def test_what_came_just_now_stays() -> None:
    buffer = filled((0, attempt()), (0, attempt(crashes=1)))
    assert buffer.take_stale() == []
    assert (len(buffer), buffer.ahead) == (2, 4)


def test_what_calls_a_target_is_asked_about_each_time_and_the_others_never() -> None:
    calls, other = attempt(target="a.example"), attempt()
    buffer, asked = filled((0, other), (0, calls)), list[Attempt]()

    def why_not(one: Attempt) -> str | None:
        asked.append(one)
        return "breaker" if len(asked) == 3 else None

    assert [buffer.take_refused(why_not) for _ in range(2)] == [([], [])] * 2
    assert buffer.take_refused(why_not) == ([calls], ["breaker"])
    assert buffer.take_refused(why_not) == ([], [])
    assert (asked, [one for _, one in buffer]) == ([calls] * 3, [other])
