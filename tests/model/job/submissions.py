"""What a reader of submissions knows about its installation, and a look at its answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from windlass.errors import InvalidInput
from windlass.model.job.draft import Draft
from windlass.model.job.submission import SubmissionContext, read_batch, read_job
from windlass.strategies.builtin import INPUT_CHECKS

NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)
CONTEXT = SubmissionContext(kinds=INPUT_CHECKS, max_attempts=5, owner="key_1")


def job(**fields: Any) -> Draft:
    """The draft of a noop with these fields."""
    return read_job({"kind": "noop", **fields}, CONTEXT, NOW)


def batch(*jobs: Any) -> list[Draft]:
    return read_batch({"jobs": list(jobs)}, CONTEXT, NOW)


def refused(read: Callable[[], object]) -> list[tuple[str, str]]:
    """Every problem that `read` is refused for, as (pointer, detail)."""
    with pytest.raises(InvalidInput) as caught:
        read()
    return [(problem.pointer, problem.detail) for problem in caught.value.problems]


def pointers(read: Callable[[], object]) -> list[str]:
    return [pointer for pointer, _ in refused(read)]
