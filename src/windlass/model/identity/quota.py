"""Quotas: what a user or a key may have of requests a second, jobs a day, and bytes waiting.

    {"requests_per_second": 5, "requests_burst": 20, "jobs_per_day": 1000, "bytes_waiting": 1048576}

Each may be absent: then the owner's default holds, and where there is none, no limit. A key of a
user is held to its own and to that of its user; a key of nobody to its own. Who has none is asked
for nothing, by Redis or PostgreSQL.

Requests are counted by GCRA (`Pace`; see model.job.target), jobs by calendar days in UTC: a number
that people can add up, one row for each caller, and one moment that everybody knows at which it
starts anew. A sliding day would need every submission of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal
from uuid import UUID

from windlass import ids
from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import (
    QUOTA_BURST_MAX,
    QUOTA_COUNT_MAX,
    QUOTA_REQUESTS_MAX,
    QUOTA_REQUESTS_MIN,
)
from windlass.model.json.pointer import step
from windlass.model.json.whole import read_whole

SubjectNoun = Literal["user", "key"]
_MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """So many a second, and so many at once, as whole microseconds: rounded so that it is never
    more than was asked for.
    """

    per_second: float
    burst: int

    @property
    def interval(self) -> int:
        return math.ceil(_MICROSECONDS / self.per_second)

    @property
    def tolerance(self) -> int:
        """How far ahead of the pace a burst may run."""
        return (self.burst - 1) * self.interval

    @property
    def full(self) -> int:
        """How long a spent burst takes to come back."""
        return self.burst * self.interval

    def remaining(self, ahead: float) -> int:
        """How many may come now, so many microseconds ahead of the pace."""
        return max(0, math.floor((self.tolerance - ahead) / self.interval) + 1)

    @property
    def window_seconds(self) -> int:
        """For RateLimit-Policy, which knows whole seconds only."""
        return max(1, math.ceil(self.burst / self.per_second))

    @property
    def in_window(self) -> int:
        return max(1, math.floor(self.per_second * self.window_seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """None: no limit, or the owner's default."""

    requests_per_second: float | None = None
    requests_burst: int | None = None  # at once; None: those of a second
    jobs_per_day: int | None = None
    bytes_waiting: int | None = None  # of the inputs of jobs that have not ended

    @property
    def is_empty(self) -> bool:
        return self == NO_QUOTA

    @property
    def given(self) -> dict[str, Any]:
        """What it says."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value is not None}

    def or_else(self, other: Quota) -> Quota:
        """With what it does not say as the other has it; a burst belongs to its rate."""
        if self.requests_per_second is not None:
            other = replace(other, requests_burst=None)
        return Quota(**{**other.given, **self.given})

    def changed(self, by: Mapping[str, Any]) -> Quota:
        """None takes away. Raises InvalidInput for what has no meaning."""
        quota = replace(self, **by)
        if quota.requests_per_second is None and quota.requests_burst is not None:
            if "requests_burst" in by and by["requests_burst"] is not None:
                raise InvalidInput.at(
                    "/quota/requests_burst", "has no meaning without requests_per_second"
                )
            quota = replace(quota, requests_burst=None)  # its rate was taken away
        return quota

    @property
    def pace(self) -> Pace | None:
        """Of requests; None: they are not limited."""
        rate = self.requests_per_second
        if rate is None:
            return None
        return Pace(per_second=rate, burst=self.requests_burst or max(1, math.floor(rate)))

    @property
    def counts_jobs(self) -> bool:
        """Is there anything to ask PostgreSQL when jobs are admitted?"""
        return self.jobs_per_day is not None or self.bytes_waiting is not None


NO_QUOTA: Final = Quota()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectQuota:
    """A quota, and whose it is."""

    noun: SubjectNoun
    id: UUID
    quota: Quota

    @property
    def name(self) -> str:
        return ids.show(self.noun, self.id)


def quotas_of(
    defaults: Quota,
    *,
    user_id: UUID | None,
    user: Quota = NO_QUOTA,
    key_id: UUID | None = None,  # None: the caller came with a session
    key: Quota = NO_QUOTA,
) -> tuple[SubjectQuota, ...]:
    """What a caller is held to, the key's own first. The owner's defaults are for users, and for
    keys that belong to none.
    """
    found = []
    if key_id is not None:
        own = key if user_id is not None else key.or_else(defaults)
        found.append(SubjectQuota(noun="key", id=key_id, quota=own))
    if user_id is not None:
        found.append(SubjectQuota(noun="user", id=user_id, quota=user.or_else(defaults)))
    return tuple(one for one in found if not one.quota.is_empty)


# -- as JSON ---------------------------------------------------------------------------------------


def _requests(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not QUOTA_REQUESTS_MIN <= value <= QUOTA_REQUESTS_MAX:  # type: ignore[operator]
        raise ValueError(
            f"must be requests a second from {QUOTA_REQUESTS_MIN} to {QUOTA_REQUESTS_MAX:.0f}"
        )
    return float(value)  # type: ignore[arg-type]


def _burst(value: object) -> int:
    return read_whole(value, QUOTA_BURST_MAX)


def _count(value: object) -> int:
    return read_whole(value, QUOTA_COUNT_MAX, 0)


_READERS: Final = {
    "requests_per_second": _requests,
    "requests_burst": _burst,
    "jobs_per_day": _count,
    "bytes_waiting": _count,
}
assert list(_READERS) == [field.name for field in fields(Quota)]
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "requests_per_second": {
            "type": ["number", "null"],
            "minimum": QUOTA_REQUESTS_MIN,
            "maximum": QUOTA_REQUESTS_MAX,
        },
        "requests_burst": {"type": ["integer", "null"], "minimum": 1, "maximum": QUOTA_BURST_MAX},
        "jobs_per_day": {"type": ["integer", "null"], "minimum": 0, "maximum": QUOTA_COUNT_MAX},
        "bytes_waiting": {"type": ["integer", "null"], "minimum": 0, "maximum": QUOTA_COUNT_MAX},
    },
}


def read_quota_change(value: object) -> dict[str, Any]:
    """What an object says of a quota; None takes away. Raises ValueError, InvalidInput with
    every mistake.
    """
    if not isinstance(value, dict):
        raise ValueError(f"must be an object of {' '.join(_READERS)}")
    problems: list[FieldProblem] = []
    found: dict[str, Any] = {}
    for name, given in value.items():
        pointer = step(name)
        if name not in _READERS:
            detail = f"unknown field; known are {' '.join(_READERS)}"
            problems.append(FieldProblem(pointer=pointer, detail=detail))
            continue
        try:
            found[name] = None if given is None else _READERS[name](given)
        except ValueError as trouble:
            problems.append(FieldProblem(pointer=pointer, detail=f"{trouble}, or null for none"))
    if problems:
        raise InvalidInput(*problems)
    return found


def stored_quota(value: Mapping[str, Any] | None) -> Quota:
    """One that was kept. A limit that a later release knows is none here."""
    if not value:
        return NO_QUOTA
    return Quota(**{name: value[name] for name in _READERS if name in value})
