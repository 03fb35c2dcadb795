"""Targets of webhooks as people see and set them: rate limit, concurrency limit, circuit breaker.

A target's row is the truth and nodes keep copies of it: after a change the caller says so
(`Announcer.targets`), or they notice within seconds.
"""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass, replace
from datetime import datetime
from typing import Final

from windlass.engine.audit.record import Entry, ask_and_record, record
from windlass.errors import NotFound
from windlass.limits import (
    BREAKER_FAILURES,
    BREAKER_REST_SECONDS,
    BREAKER_REST_SECONDS_MAX,
    PARKED_COUNTED_MAX,
)
from windlass.model.json.etag import UNCONDITIONAL, Precondition, tag_of
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

# Where nobody says otherwise, a bare host is meant as https; see model/job/target.py.
_PLAIN_PORT: Final = ":80"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetLimits:
    rate: float | None = None  # deliveries a second in the whole cluster; None: no limit
    max_running: int | None = None  # at once in the whole cluster; None: no limit
    failures: int = BREAKER_FAILURES  # in a row, to open the breaker; 0: never
    rest_seconds: float = BREAKER_REST_SECONDS  # how long it stays open the first time
    rest_max_seconds: float = BREAKER_REST_SECONDS_MAX  # and at most

    @property
    def etag(self) -> str:
        return tag_of(*astuple(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    state: str  # closed, open, half_open
    opened_at: datetime | None  # None: closed
    open_until: datetime | None  # None: closed
    opens: int  # times it opened since it was last closed
    reason: str | None  # the failure that opened it; None: closed


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    host: str
    is_enabled: bool
    disabled_at: datetime | None  # None: it is enabled
    disabled_reason: str | None  # None: nobody gave one
    limits: TargetLimits
    breaker: Breaker
    parked: int  # jobs that wait for it, counted to PARKED_COUNTED_MAX
    has_more_parked: bool
    running: int | None  # under way or about to go; None: nobody counts without `max_running`
    succeeded: int
    failed: int
    last_answer_at: datetime | None
    last_failure_at: datetime | None
    created_at: datetime


async def list_targets(database: Database, limit: int, after: str = "") -> list[Target]:
    """Up to `limit` targets by host, from the one that follows `after`."""
    return await _read(database, after, limit, None)


async def read_target_row(database: Database, host: str) -> Target:
    """The target; a bare host may also mean its port 80. Raises NotFound."""
    found = await _read(database, "", 1, [host, host + _PLAIN_PORT])
    if not found:
        raise NotFound("target", host)
    return found[0]


async def find_target(database: Database, host: str) -> Target | None:
    """The target of exactly this host. None: it has no row, so nothing is known against it."""
    found = await _read(database, "", 1, [host])
    return found[0] if found else None


async def put_target(
    database: Database, host: str, limits: TargetLimits, wanted: Precondition = UNCONDITIONAL
) -> Target:
    """Set all its limits; a target that is not known yet is made. Raises PreconditionFailed."""

    async def work(connection: Connection[Record]) -> None:
        row = await connection.fetchrow(statement("target_hold"), host)
        assert row is not None, "it is made if need be"
        before = None if row["is_made"] else _target_limits(row)
        wanted.check("target", host, None if before is None else before.etag)
        await connection.fetch(
            statement("target_put"),
            *(host, limits.rate, limits.max_running),
            *(limits.failures, limits.rest_seconds, limits.rest_max_seconds),
        )
        known = None if before is None else asdict(before)
        entry = Entry(action="target.put", name=host, before=known, after=asdict(limits))
        await record(connection, entry)

    await database.ask(work)
    # As this call left it: another may have followed, and its limits are not this caller's.
    return replace(await read_target_row(database, host), limits=limits)


async def enable_target(database: Database, host: str) -> Target:
    return await _change(database, "target_enable", host, Entry(action="target.enable"))


async def disable_target(database: Database, host: str, reason: str | None = None) -> Target:
    """From now on nothing is delivered to it; what is under way goes on."""
    entry = Entry(action="target.disable", note=reason)
    return await _change(database, "target_disable", host, entry, reason)


async def reset_target(database: Database, host: str) -> Target:
    """Close its breaker, whatever opened it."""
    return await _change(database, "target_reset", host, Entry(action="target.reset"))


async def _change(
    database: Database, name: str, host: str, entry: Entry, *values: str | None
) -> Target:
    known = (await read_target_row(database, host)).host
    given = known, *values
    if not await ask_and_record(
        database, name, *given, entries=lambda _rows: [replace(entry, name=known)]
    ):
        raise NotFound("target", host)
    return await read_target_row(database, known)


async def _read(
    database: Database, after: str, limit: int, hosts: list[str] | None
) -> list[Target]:
    rows = await database.read("target_list", after, limit, hosts, PARKED_COUNTED_MAX + 1)
    return [_target(row) for row in rows]


def _target(row: Record) -> Target:
    return Target(
        host=row["host"],
        is_enabled=row["is_enabled"],
        disabled_at=row["disabled_at"],
        disabled_reason=row["disabled_reason"],
        limits=_target_limits(row),
        breaker=Breaker(
            state=row["breaker"],
            opened_at=row["opened_at"],
            open_until=row["open_until"],
            opens=row["opens"],
            reason=row["breaker_reason"],
        ),
        parked=min(row["parked"], PARKED_COUNTED_MAX),
        has_more_parked=row["parked"] > PARKED_COUNTED_MAX,
        running=row["running"],
        succeeded=row["succeeded"],
        failed=row["failed"],
        last_answer_at=row["last_answer_at"],
        last_failure_at=row["last_failure_at"],
        created_at=row["created_at"],
    )


def _target_limits(row: Record) -> TargetLimits:
    return TargetLimits(
        rate=row["rate"],
        max_running=row["max_running"],
        failures=row["breaker_failures"],
        rest_seconds=row["breaker_rest_seconds"],
        rest_max_seconds=row["breaker_rest_max_seconds"],
    )
