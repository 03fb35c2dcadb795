"""`windlass dead …`: jobs that failed for good, and what to do with them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage, Exit
from windlass.cli.http.client import Query
from windlass.cli.http.listing import show_list, show_whole
from windlass.cli.http.whole_id import whole_ids
from windlass.cli.limits import BATCH_CALL_SECONDS
from windlass.cli.options import READ, All, Limit, Reading, within
from windlass.cli.show.job import error_text, what
from windlass.cli.show.output import say, show_line
from windlass.cli.show.table import Column, columns, prose, spare
from windlass.cli.verbs.job.bulk import follow, read_rate, show_preview
from windlass.limits import PAGE_DEFAULT

ROW = (
    *columns("id"),
    Column(title="what", take=what),
    *spare("queue", "attempt"),
    *columns("finished_at"),
    prose("error", lambda job: error_text(job.get("error"))),
)
GROUP = (
    *columns("count", "cause"),
    Column(title="what", take=what),
    *spare("queue", "first_at"),
    *columns("last_at", "sample_id"),
)

app = App(name="dead", help="Look through dead letters; replay or discard them.")


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class DeadListOptions:
    """Which dead letters to list. None: any."""

    queue: Annotated[str | None, Parameter(metavar="NAME", help="Only this queue.")] = None
    kind: Annotated[str | None, Parameter(metavar="KIND", help="Only this kind.")] = None
    task: Annotated[str | None, Parameter(metavar="TASK", help="Only this Python function.")] = None
    cause: Annotated[
        str | None, Parameter(metavar="TEXT", help="Only this cause; `dead groups` names them.")
    ] = None
    tag: Annotated[str | None, Parameter(metavar="TEXT", help="Only with this tag.")] = None
    target: Annotated[
        str | None, Parameter(metavar="HOST", help="Only what failed at this host.")
    ] = None
    since: Annotated[
        str | None,
        Parameter(
            metavar="WHEN",
            help="Only what died then or later: 1h (ago), 14:05, 2030-01-31, 2030-01-31T12:00:00Z.",
        ),
    ] = None
    until: Annotated[str | None, Parameter(metavar="WHEN", help="Only what died before then.")] = (
        None
    )

    def given(self) -> Query:
        when = within("finished", "--since", self.since, "--until", self.until)
        given = {**asdict(self), "since": None, "until": None, **when}
        return {name: value for name, value in given.items() if value is not None}


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class DeadSelectionOptions(DeadListOptions):
    """Which to act on."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class DeadBulkOptions:
    """How it goes."""

    dry_run: Annotated[
        bool, Parameter(negative="", help="Only say how many match, and of what.")
    ] = False
    rate: Annotated[
        str | None, Parameter(metavar="RATE", help="So many a second: 50, 50/s, 100/m.")
    ] = None


AS_USUAL = DeadBulkOptions()
ANY = DeadListOptions()
NOT_CHOSEN = DeadSelectionOptions()
Ids = Annotated[str, Parameter(metavar="JOB", help="Ids of dead jobs, or their first digits.")]
Everything = Annotated[bool, Parameter(name="--all", help="Every dead letter there is.")]


@app.command
def ls(
    *,
    which: DeadListOptions = ANY,
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """List dead letters, newest first."""
    limit_or_all = None if everything else limit
    none = "no dead letters; all is well"
    show_list(reading, "/v1/dead-letters", which.given(), ROW, limit=limit_or_all, none=none)


@app.command
def groups(*, reading: Reading = READ) -> None:
    """Count dead letters by queue, cause, and what they are of."""
    none = "no dead letters; all is well"
    show_whole(reading, "/v1/dead-letters/groups", GROUP, none=none)


@app.command
def replay(
    *jobs: Ids,
    which: DeadSelectionOptions = NOT_CHOSEN,
    everything: Everything = False,
    how: DeadBulkOptions = AS_USUAL,
    reading: Reading = READ,
) -> int:
    """Queue dead letters again: those named, those that match, or --all.

    With --rate it is an operation that goes on by itself, and is watched until its end.
    Exit code 1 when some of them stay as they are; each is told with the reason.
    """
    return _act("replay", "replayed", _body(jobs, which, everything), how, reading)


@app.command
def discard(
    *jobs: Ids,
    which: DeadSelectionOptions = NOT_CHOSEN,
    everything: Everything = False,
    how: DeadBulkOptions = AS_USUAL,
    reading: Reading = READ,
) -> int:
    """Forget dead letters for good: those named, those that match, or --all.

    With --rate it is an operation that goes on by itself, and is watched until its end.
    Exit code 1 when some of them stay as they are; each is told with the reason.
    """
    return _act("discard", "discarded", _body(jobs, which, everything), how, reading)


def _body(jobs: tuple[str, ...], which: DeadSelectionOptions, everything: bool) -> dict[str, Any]:
    """What was chosen, in exactly one way: nothing is swept up by a forgotten argument."""
    ways = [bool(jobs), which != NOT_CHOSEN, everything]
    if sum(ways) != 1:
        raise BadUsage("say which: ids, or a filter such as --queue mail, or --all; one of these")
    return {"ids": list(jobs)} if jobs else {"filter": which.given()}


def _act(verb: str, done: str, body: dict[str, Any], how: DeadBulkOptions, reading: Reading) -> int:
    path = f"/v1/dead-letters/{verb}"
    body |= {} if how.rate is None else {"rate": read_rate(how.rate)}
    body |= {"dry_run": True} if how.dry_run else {}
    with reading.client() as client:
        if "ids" in body:
            body["ids"] = whole_ids(client, "job", body["ids"])
        got = client.post(path, body, seconds=BATCH_CALL_SECONDS)
        if how.dry_run:
            return show_preview(got, reading)
        if how.rate is not None:
            return follow(client, got, reading)
    answer = got.value
    count: int = answer[done]
    show_line(f"{count:,} {'job' if count == 1 else 'jobs'} {done}")
    if answer.get("more"):
        say("there are more: one call takes no more than these; do it again")
    left: int = answer.get("left", 0)
    named = answer.get("left_jobs", ())
    for one in named:
        say(f"{one['id']} was not {done}: {one['reason']}")
    if left > len(named):
        say(f"and {left - len(named):,} more were not {done}")
    return Exit.FAILED if left else Exit.OK
