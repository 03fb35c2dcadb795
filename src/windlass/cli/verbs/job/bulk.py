"""A verb on all jobs that match: its options, the look before, and the wait for its end.

What it does is an operation of the server's (`windlass operation`): whoever leaves does not stop
it.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final

from cyclopts import Parameter

from windlass.cli.exits import BadUsage, Exit
from windlass.cli.http.client import Answer, Client
from windlass.cli.http.wait import wait_for_operation
from windlass.cli.http.whole_id import whole_id_or_none
from windlass.cli.options import SINCE, TIME, UNTIL, Reading, within
from windlass.cli.show.bulk import GROUP, count_of, matching, sentence, tell_refused
from windlass.cli.show.moment import length
from windlass.cli.show.operation import exit_of
from windlass.cli.show.output import say, show_json, show_json_line, show_line
from windlass.cli.show.table import show_table
from windlass.duration import parse_rate
from windlass.limits import BULK_RATE_MAX, BULK_RATE_MIN
from windlass.model.job.states import State


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class BulkFilterOptions:
    """Which jobs, instead of their ids. None: any."""

    state: Annotated[
        tuple[State, ...], Parameter(help="Those in this state; may be repeated.")
    ] = ()
    queue: Annotated[str | None, Parameter(metavar="NAME", help="Those of this queue.")] = None
    kind: Annotated[str | None, Parameter(metavar="KIND", help="Those of this kind.")] = None
    task: Annotated[
        str | None, Parameter(metavar="TASK", help="Those of this Python function.")
    ] = None
    tag: Annotated[str | None, Parameter(metavar="TEXT", help="Those with this tag.")] = None
    target: Annotated[
        str | None, Parameter(metavar="HOST", help="Webhooks that call this host.")
    ] = None
    execution_id: Annotated[
        str | None,
        Parameter(name="--execution", metavar="EXECUTION", help="Those of this execution."),
    ] = None
    correlation_id: Annotated[
        str | None,
        Parameter(name="--correlation-id", metavar="TEXT", help="Those with this correlation id."),
    ] = None

    since: Annotated[str | None, Parameter(group=TIME, metavar="WHEN", help=SINCE)] = None
    until: Annotated[str | None, Parameter(group=TIME, metavar="WHEN", help=UNTIL)] = None

    def given(self, client: Client) -> dict[str, Any]:
        """The filter of the request."""
        when = within("created", "--since", self.since, "--until", self.until)
        found: dict[str, Any] = {**asdict(self), "since": None, "until": None, **when}
        found["state"] = list(self.state)
        found["execution_id"] = whole_id_or_none(client, "execution", self.execution_id)
        return {name: value for name, value in found.items() if value not in (None, [])}


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOptions:
    """How a verb on many jobs goes."""

    everything: Annotated[
        bool, Parameter(name="--all", negative="", help="All jobs that the verb is for.")
    ] = False
    dry_run: Annotated[
        bool, Parameter(negative="", help="Only say how many match, and of what.")
    ] = False
    rate: Annotated[
        str | None, Parameter(metavar="RATE", help="So many a second: 50, 50/s, 100/m.")
    ] = None
    most: Annotated[int | None, Parameter(metavar="N", help="No more than so many.")] = None
    yes: Annotated[
        bool, Parameter(name=("--yes", "-y"), negative="", help="Do not ask before.")
    ] = False


NOT_CHOSEN: Final = BulkFilterOptions()
AS_USUAL: Final = BulkOptions()


def is_bulk(jobs: tuple[str, ...], which: BulkFilterOptions, how: BulkOptions) -> bool:
    """Whether jobs are chosen by a filter. Raises BadUsage when it is not clear."""
    is_chosen = which != NOT_CHOSEN or how.everything
    if jobs and (is_chosen or how != AS_USUAL):
        raise BadUsage("give ids, or options such as --queue mail that say which; not both")
    if is_chosen and which != NOT_CHOSEN and how.everything:
        raise BadUsage("--all is for no filter at all; leave it out, or the filter")
    if not jobs and not is_chosen:
        raise BadUsage("say which: ids, or a filter such as --queue mail, or --all")
    return is_chosen


def act(verb: str, which: BulkFilterOptions, how: BulkOptions, reading: Reading) -> int:
    """Look, ask, do it, and stay until it has ended."""
    body: dict[str, Any] = {"verb": verb}
    if how.everything:
        body["all"] = True
    if how.most is not None:
        body["most"] = how.most
    if how.rate is not None:
        body["rate"] = read_rate(how.rate)
    with reading.client() as client:
        if not how.everything:
            body["filter"] = which.given(client)
        if how.dry_run or not how.yes:
            seen = client.post("/v1/jobs/bulk", {**body, "dry_run": True})
            if how.dry_run:
                return show_preview(seen, reading)
            if not _is_meant(verb, seen.value, how):
                return Exit.OK
        return follow(client, client.post("/v1/jobs/bulk", body), reading)


def _is_meant(verb: str, seen: dict[str, Any], how: BulkOptions) -> bool:
    """Whether somebody says so. Raises BadUsage where nobody can be asked."""
    if not seen["matching"]:
        say("no jobs match")
        return False
    if not sys.stdin.isatty():
        raise BadUsage(f"{matching(seen)}; say --yes to {verb} them, or --dry-run to look")
    for group in seen["groups"][:5]:
        say(f"  {group['count']:,} {group['state']} in {group['queue']}: {_of(group)}")
    if len(seen["groups"]) > 5:
        say("  and others; --dry-run shows them")
    up_to = "" if how.most is None else f", {how.most:,} at most"
    print(f"{verb} {count_of(seen)}{up_to}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        say("nothing was done")
        return False
    return True


def _of(group: dict[str, Any]) -> str:
    return str(group["task"] or group["kind"]) + (f", {group['cause']}" if group["cause"] else "")


def show_preview(seen: Answer, reading: Reading) -> int:
    match reading.output:
        case "json":
            show_json(seen.text)
        case "jsonl":
            show_json_line(seen.value)
        case "id":
            for job_id in seen.value["sample_ids"]:
                show_line(job_id)
        case "table":
            show_table(GROUP, seen.value["groups"], none="no jobs match")
            if seen.value["matching"]:
                took = seen.value["estimated_seconds"]
                at_rate = "" if took is None else f"; at this rate it takes {length(took)}"
                say(f"{matching(seen.value)}{at_rate}; nothing was done")
    return Exit.OK


def follow(client: Client, asked: Answer, reading: Reading) -> int:
    """Stay with the operation until its end."""
    shown = asked.value["id"]
    try:
        ended = wait_for_operation(client, asked)
    except KeyboardInterrupt:
        say(f"{shown} goes on without us: windlass operation watch {shown}")
        say(f"  to end it: windlass operation abort {shown}")
        raise
    match reading.output:
        case "json":
            show_json(ended.text)
        case "jsonl":
            show_json_line(ended.value)
        case "id":
            show_line(shown)
        case "table":
            show_line(sentence(ended.value))
    tell_refused(ended.value)
    return exit_of(ended.value)


def read_rate(text: str) -> float:
    """`50`, `50/s` or `100/m` as jobs a second."""
    try:
        rate = parse_rate(text)
    except ValueError:
        rate = 0.0
    if not BULK_RATE_MIN <= rate <= BULK_RATE_MAX:
        raise BadUsage(f"--rate {text!r} is none: say 50 or 50/s, 100/m, 1000/h")
    return rate
