"""Everything that asks what time it is asks where a test can answer."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tests.house.repository import ROOT
from tests.testing.shop import app, charge
from windlass.clock import wall
from windlass.testing.local import LocalMaker

NEW_YEAR = datetime(2031, 1, 1, tzinfo=UTC)
# Spellings that no search path can lead elsewhere. Comments may name them.
FIXED = re.compile(
    r"current_timestamp|localtimestamp|current_date|current_time|localtime\b|pg_catalog\s*\.|"
    r"transaction_timestamp|'now'|timeofday",
    re.IGNORECASE,
)
COMMENT = re.compile(r"--.*")


def test_no_statement_and_no_migration_asks_a_clock_that_cannot_be_shifted() -> None:
    found = sorted((ROOT / "src/windlass/store").rglob("*.sql"))
    assert len(found) > 200
    assert [path.name for path in found if FIXED.search(COMMENT.sub("", path.read_text()))] == []


@pytest.mark.parametrize("text", ["SELECT CURRENT_TIMESTAMP", "pg_catalog.now()", "'now'::date"])
def test_a_fixed_clock_would_be_found(text: str) -> None:
    assert FIXED.search(text)


def test_every_session_lives_in_the_test_s_time(windlass_local: LocalMaker) -> None:
    local = windlass_local(app, at=NEW_YEAR)
    with psycopg.connect(local.database_url) as connection:
        row = connection.execute(
            "SELECT now(), statement_timestamp(), clock_timestamp()"
        ).fetchone()
        assert row is not None
        assert all(timedelta() <= at - NEW_YEAR < timedelta(minutes=1) for at in row)
        charge.using(connection=connection, run_after="1h").enqueue(4)
        assert local.jobs() == []  # not committed yet
    [job] = local.jobs()
    assert timedelta() <= job.created_at - NEW_YEAR < timedelta(minutes=1)
    assert [job.state for job in local.advance("1h")] == ["succeeded"]


def test_the_process_is_in_real_time_again_afterwards(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    assert abs(wall() - datetime.now(UTC)) < timedelta(minutes=1)
    assert abs(local.now - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_start_without_a_time_zone_is_refused(windlass_local: LocalMaker) -> None:
    with pytest.raises(ValueError, match="needs a time zone"):
        windlass_local(app, at=datetime(2031, 1, 1))
