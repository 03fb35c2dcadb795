"""Events have names that stay, sort as things happened, and can be read back."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.model.job.event import (
    OTHER_RANK,
    RANKS,
    Event,
    SortKey,
    parse_event_id,
    show_event_id,
)

INSTANTS = st.datetimes(
    min_value=datetime(1970, 1, 1), max_value=datetime(4000, 1, 1), timezones=st.just(UTC)
)
SORT_KEYS = st.builds(
    SortKey, INSTANTS, st.uuids(), st.integers(0, OTHER_RANK), st.integers(0, 2**44 - 1)
)


@given(SORT_KEYS)
def test_a_sort_key_is_read_back_from_its_id(sort_key: SortKey) -> None:
    assert parse_event_id(show_event_id(sort_key)) == sort_key


@given(SORT_KEYS, SORT_KEYS)
def test_ids_sort_as_events_happened(one: SortKey, other: SortKey) -> None:
    assert (one < other) == (show_event_id(one) < show_event_id(other))


@pytest.mark.parametrize(
    "text", ["", "evt_", "evt_" + "0" * 57, "evt_" + "G" * 58, "job_" + "0" * 58, "evt_" + "0" * 59]
)
def test_what_is_no_event_id_is_refused_with_what_one_looks_like(text: str) -> None:
    with pytest.raises(ValueError, match="is not an event id; one looks like evt_"):
        parse_event_id(text)


def test_an_event_of_a_queue_or_a_node_has_a_sort_key_among_those_of_jobs() -> None:
    at = datetime(2030, 1, 1, tzinfo=UTC)
    paused = Event(at=at, type="paused", noun="queue", subject="mail", number=7)
    assert paused.sort_key == SortKey(at, UUID(int=0), OTHER_RANK, 7)
    assert max(RANKS.values()) < OTHER_RANK < 16
