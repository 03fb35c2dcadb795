"""The options of `windlass schedule create` and `edit`, and the body they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from windlass.cli.exits import BadUsage
from windlass.cli.values import duration, json_object
from windlass.model.job.states import Priority

WHEN = Group("When", sort_key=10)
WHAT = Group("What", sort_key=20)
HOW = Group("How", sort_key=30)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOptions:
    """When. None or empty: not given."""

    cron: Annotated[
        str | None,
        Parameter(
            group=WHEN,
            metavar="RULE",
            help="'0 8 * * 1-5', or six fields with the second first; @daily, H, L, W and #.",
        ),
    ] = None
    every: Annotated[
        str | None, Parameter(group=WHEN, metavar="DURATION", help="Elapsed time: 90s, 15m, 36h.")
    ] = None
    at: Annotated[
        tuple[str, ...],
        Parameter(group=WHEN, metavar="INSTANT", help="At 2030-01-31T12:00:00Z; may be repeated."),
    ] = ()
    timezone: Annotated[
        str | None,
        Parameter(group=WHEN, metavar="ZONE", help="Such as Europe/Berlin; UTC unless said."),
    ] = None
    dst_gap: Annotated[
        Literal["next", "skip"] | None,
        Parameter(group=WHEN, help="A time that clocks skip: right after it (next), or not."),
    ] = None
    dst_overlap: Annotated[
        Literal["first", "second", "both"] | None,
        Parameter(group=WHEN, help="A time that clocks show twice: which of the two."),
    ] = None
    starts_at: Annotated[
        str | None, Parameter(group=WHEN, metavar="INSTANT", help="Not before this.")
    ] = None
    ends_at: Annotated[
        str | None, Parameter(group=WHEN, metavar="INSTANT", help="Not from this instant on.")
    ] = None
    jitter: Annotated[
        str | None,
        Parameter(group=WHEN, metavar="DURATION", help="Each up to so much later, to spread load."),
    ] = None
    calendar: Annotated[
        str | None,
        Parameter(
            group=WHEN,
            metavar="JSON|@FILE",
            help="Days off: weekdays, dates, countries, and where their firings go.",
        ),
    ] = None

    def fields(self) -> dict[str, Any]:
        dst = {"gap": self.dst_gap, "overlap": self.dst_overlap}
        dst = {name: value for name, value in dst.items() if value is not None}
        given = {
            "cron": self.cron,
            "every": None if self.every is None else duration(self.every),
            "at": self.at[0] if len(self.at) == 1 else list(self.at) or None,
            "timezone": self.timezone,
            "dst": dst or None,
            "starts_at": self.starts_at,
            "ends_at": self.ends_at,
            "jitter": None if self.jitter is None else duration(self.jitter),
            "calendar": (
                None if self.calendar is None else json_object("--calendar", self.calendar)
            ),
        }
        return {name: value for name, value in given.items() if value is not None}


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOptions:
    """What it does, and how. None or empty: not given."""

    job: Annotated[
        str | None,
        Parameter(
            group=WHAT,
            metavar="JSON|@FILE|-",
            allow_leading_hyphen=True,
            help='Submit this job: \'{"kind": "http", "input": {…}}\'.',
        ),
    ] = None
    workflow: Annotated[
        str | None, Parameter(group=WHAT, metavar="NAME", help="Start this workflow.")
    ] = None
    input: Annotated[
        str | None,
        Parameter(
            group=WHAT,
            metavar="JSON|@FILE|-",
            allow_leading_hyphen=True,
            help="Input of the workflow's executions.",
        ),
    ] = None
    version: Annotated[
        int | None, Parameter(group=WHAT, metavar="N", help="Of the workflow; else the newest.")
    ] = None
    overlap: Annotated[
        Literal["allow", "skip", "queue_one", "cancel_running"] | None,
        Parameter(group=HOW, help="When the one before has not ended; allow unless said."),
    ] = None
    misfire: Annotated[
        Literal["fire_once", "fire_all", "skip"] | None,
        Parameter(group=HOW, help="What to make of missed instants; fire_once unless said."),
    ] = None
    catchup: Annotated[
        str | None,
        Parameter(group=HOW, metavar="DURATION", help="Skip what was missed longer ago."),
    ] = None
    priority: Annotated[Priority | None, Parameter(group=HOW, help="How urgent it is.")] = None
    tag: Annotated[
        tuple[str, ...],
        Parameter(group=HOW, metavar="TEXT", help="A word to filter by; may be repeated."),
    ] = ()

    def fields(self) -> dict[str, Any]:
        given = {
            "job": None if self.job is None else json_object("--job", self.job),
            "workflow": self._workflow(),
            "overlap": self.overlap,
            "misfire": self.misfire,
            "catchup": None if self.catchup is None else duration(self.catchup),
            "priority": self.priority,
            "tags": list(self.tag) or None,
        }
        return {name: value for name, value in given.items() if value is not None}

    def _workflow(self) -> dict[str, Any] | None:
        if self.workflow is None:
            if self.input is not None or self.version is not None:
                raise BadUsage("--input and --version are about a --workflow; say which")
            return None
        given = {
            "name": self.workflow,
            "version": self.version,
            "input": None if self.input is None else json_object("--input", self.input),
        }
        return {name: value for name, value in given.items() if value is not None}


NO_RULE, NO_WORK = RuleOptions(), WorkOptions()
