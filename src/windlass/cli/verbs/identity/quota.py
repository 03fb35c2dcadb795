"""Quotas of users and keys, as options, and as they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final

from cyclopts import Group, Parameter

from windlass.cli.show.table import Column
from windlass.cli.values import limit_or_none

QUOTA: Final = Group("Quota", sort_key=80)
_UNITS: Final = {
    "requests_per_second": "requests/s",
    "requests_burst": "at once",
    "jobs_per_day": "jobs/day",
    "bytes_waiting": "bytes waiting",
}


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaOptions:
    """What is not named stays as it is; none takes a quota away."""

    requests_per_second: Annotated[
        str | None, Parameter(group=QUOTA, metavar="N", help="Requests a second, or none.")
    ] = None
    requests_burst: Annotated[
        str | None, Parameter(group=QUOTA, metavar="N", help="So many of them at once, or none.")
    ] = None
    jobs_per_day: Annotated[
        str | None, Parameter(group=QUOTA, metavar="N", help="Jobs a day (UTC), or none.")
    ] = None
    bytes_waiting: Annotated[
        str | None,
        Parameter(group=QUOTA, metavar="N", help="Input of jobs that have not ended, or none."),
    ] = None

    def body(self) -> dict[str, Any]:
        """As the API takes it; empty when nothing is said. Raises BadUsage."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        quota = {
            name: limit_or_none(f"--{name.replace('_', '-')}", text)
            for name, text in said.items()
            if text is not None
        }
        return {"quota": quota} if quota else {}


def _shown(thing: Mapping[str, Any]) -> str | None:
    quota = thing.get("quota") or {}
    said = [f"{quota[name]:g} {unit}" for name, unit in _UNITS.items() if quota.get(name)]
    return ", ".join(said) or None


NO_QUOTA: Final = QuotaOptions()
COLUMN: Final = Column(title="quota", take=_shown)
