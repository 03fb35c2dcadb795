"""Operations: which phase a change of the whole cluster is in, and what a shrink waits for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args
from uuid import uuid4

import pytest

from windlass.model.cluster.operation import (
    ENDED,
    PHASES,
    Operation,
    Phase,
    phase_of_all,
    would_drain,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def operation(phase: Phase, workers: tuple[int, int | None] = (8, 4)) -> Operation:
    return Operation(
        id=uuid4(),
        kind="resize",
        node_id=uuid4(),
        parent_id=None,
        phase=phase,
        from_workers=workers[0],
        to_workers=workers[1],
        drain_seconds=30,
        on_timeout="hand_back",
        progress={},
        reason=None,
        asked_by=None,
        is_abort_asked=False,
        created_at=NOW,
        changed_at=NOW,
        ended_at=NOW if phase in ENDED else None,
    )


def test_every_phase_has_its_place() -> None:
    assert set(PHASES) == set(get_args(Phase))
    assert set(PHASES[-2:]) == ENDED


@pytest.mark.parametrize(
    ("phases", "whole"),
    [
        (["pending", "done"], "pending"),
        (["resuming", "draining", "rolled_back"], "draining"),
        (["done", "done"], "done"),
        (["done", "rolled_back"], "rolled_back"),
        ([], "done"),
    ],
)
def test_a_cluster_is_as_far_as_its_slowest_node(phases: list[Phase], whole: Phase) -> None:
    assert phase_of_all([operation(phase) for phase in phases]) == whole


@pytest.mark.parametrize(
    ("workers", "in_flight", "to_workers", "waits_for"),
    [
        (8, 8, 4, 4),
        (8, 3, 4, 0),
        (8, 100, 0, 8),  # what is beyond the slots has not begun
        (0, 1, 0, 1),  # inline, one at a time
        (4, 4, 9, 0),
    ],
)
def test_a_shrink_waits_for_what_runs_beyond_the_new_size(
    workers: int, in_flight: int, to_workers: int, waits_for: int
) -> None:
    assert would_drain(workers, in_flight, to_workers) == waits_for


def test_only_fewer_slots_are_a_shrink() -> None:
    assert operation("pending", (8, 7)).is_shrink
    assert not operation("pending", (8, 8)).is_shrink
    assert not operation("pending", (0, 1)).is_shrink
    assert not operation("pending", (8, None)).is_shrink
