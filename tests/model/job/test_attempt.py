"""An attempt is what the row of its job says, or the draft of one that was begun at once."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from windlass.model.job.attempt import attempt_of, first_attempt
from windlass.model.job.draft import GIVEN, ColumnUse, Draft, names

NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)
JOB, CLAIM = UUID(int=1), UUID(int=2)


def test_every_column_of_a_claim_goes_to_the_attribute_of_its_name() -> None:
    row: dict[str, Any] = {name: f"the {name}" for name in names(ColumnUse.CLAIMED)}
    attempt = asdict(attempt_of(row, CLAIM))
    assert attempt.pop("claim_id") == CLAIM
    assert attempt.pop("job_id") == "the id"
    assert attempt.pop("number") == "the attempt"
    assert (attempt.pop("detail"), attempt.pop("own")) == (None, None)
    assert attempt == {name: f"the {name}" for name in attempt}


def test_a_job_begun_as_it_was_inserted_has_the_attempt_that_a_claim_would_give_it() -> None:
    draft = Draft(
        kind="http",
        input='{"url": "https://example.org"}',
        queue="mail",
        priority=3,
        timeout_ms=5,
        max_attempts=7,
        retry='{"max_attempts": 7}',
        correlation_id="c",
        trace_id="t",
        target="example.org",
    )
    row: dict[str, Any] = {column.name: getattr(draft, column.name) for column in GIVEN}
    row |= {"id": JOB, "attempt": 1, "snoozes": 0, "crashes": 0, "has_pass": False}
    row |= {"created_at": NOON, "started_at": NOON, "execution_id": None}
    assert first_attempt(JOB, CLAIM, draft, NOON) == attempt_of(row, CLAIM)
