"""--since and --until: how people say when, on every list that has a window of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says
from tests.cli.things import JOB_ID, page
from windlass.cli.exits import BadUsage
from windlass.cli.values import instant
from windlass.model.job.event import parse_event_id

LISTS = {
    ("job", "ls"): "created",
    ("execution", "ls"): "created",
    ("event", "ls"): "created",
    ("job", "logs", JOB_ID): "created",
    ("dead", "ls"): "finished",
}


def said(text: str) -> datetime:
    return datetime.fromisoformat(instant("--since", text))


@pytest.mark.parametrize("words", LISTS)
def test_every_list_with_a_window_takes_since_and_until(
    windlass: Windlass, peer: Peer, words: tuple[str, ...]
) -> None:
    peer.answer(Says(json=page([])))
    given = ["--since", "2026-01-31", "--until", "2026-01-31T14:05+02:00"]
    assert windlass(*words, *given).code == 0
    [call] = peer.calls
    assert call.query[f"{LISTS[words]}_after"] == ["2026-01-31T00:00:00Z"]
    assert call.query[f"{LISTS[words]}_before"] == ["2026-01-31T12:05:00Z"]


@pytest.mark.parametrize("noun", ["job", "execution"])
def test_what_has_ended_is_found_by_its_end_as_well(
    windlass: Windlass, peer: Peer, noun: str
) -> None:
    peer.answer(Says(json=page([])))
    given = ["--finished-after", "2026-01-31", "--finished-before", "2026-02-01"]
    assert windlass(noun, "ls", *given).code == 0
    assert peer.calls[0].query["finished_after"] == ["2026-01-31T00:00:00Z"]
    assert peer.calls[0].query["finished_before"] == ["2026-02-01T00:00:00Z"]


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("1.5h", 5400), ("7d", 7 * 86400)]
)
def test_a_duration_is_so_long_ago(text: str, seconds: float) -> None:
    then = said(text)
    ago = (datetime.now(UTC) - then).total_seconds()
    assert seconds <= ago < seconds + 60


def test_a_time_of_day_is_the_last_one_that_was_so_late_in_utc() -> None:
    now = datetime.now(UTC)
    for before in (timedelta(hours=1), timedelta(hours=23)):
        then = (now - before).replace(second=0, microsecond=0)
        assert said(f"{then:%H:%M}") == then


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-01-31", "2026-01-31T00:00:00Z"),
        ("2026-01-31T14:05", "2026-01-31T14:05:00Z"),
        ("2026-01-31 14:05:06", "2026-01-31T14:05:06Z"),
        ("2026-01-31 14:05:06Z", "2026-01-31T14:05:06Z"),
        ("2026-01-31t14:05:06.5z", "2026-01-31T14:05:06.500000Z"),
        ("2026-01-31T14:05:06+02:00", "2026-01-31T12:05:06Z"),
    ],
)
def test_an_instant_is_utc_unless_it_says_otherwise(text: str, meant: str) -> None:
    assert instant("--since", text) == meant


@pytest.mark.parametrize(
    "text", ["", "yesterday", "1", "1w", "-1h", "25:00", "20260131", "2026-13-01", "9" * 99, "999d"]
)
def test_nonsense_is_a_usage_error_that_says_what_is_meant(
    windlass: Windlass, peer: Peer, text: str
) -> None:
    with pytest.raises(BadUsage, match="is no instant; give 1h"):
        instant("--since", text)
    ended = windlass("job", "ls", f"--since={text}")
    assert (ended.code, peer.calls) == (2, [])


def test_an_empty_window_is_refused_rather_than_found_empty(windlass: Windlass) -> None:
    ended = windlass("job", "ls", "--since", "1h", "--until", "2h")
    assert ended.code == 2
    assert "--since must be earlier than --until" in ended.err


def test_a_stream_may_begin_in_the_past(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=404, json={"detail": "enough"}))
    windlass("event", "tail", "--since", "2026-01-31T12:00:00Z")
    begins = parse_event_id(peer.calls[0].headers["last-event-id"]).at
    assert begins == datetime(2026, 1, 31, 12, tzinfo=UTC) - timedelta.resolution
    assert windlass("event", "tail", "--since", "1h", "--after", "evt_1").code == 2
