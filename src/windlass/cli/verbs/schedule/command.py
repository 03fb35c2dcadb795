"""`windlass schedule …`: rules in time, what they make, and what became of each instant."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage, Exit
from windlass.cli.http.client import segment
from windlass.cli.http.each import for_each
from windlass.cli.http.listing import show_list, show_one
from windlass.cli.imports.command import app as imports
from windlass.cli.limits import BATCH_CALL_SECONDS
from windlass.cli.options import READ, SERVED, All, Limit, Reading, Server
from windlass.cli.show.output import show_json, show_json_line, show_line
from windlass.cli.show.schedule import FIRING, PAGE, ROW, show_times
from windlass.cli.values import instant
from windlass.cli.verbs.schedule.many import pause, resume
from windlass.cli.verbs.schedule.options import NO_RULE, NO_WORK, RuleOptions, WorkOptions
from windlass.limits import PAGE_DEFAULT, PREVIEW_DEFAULT

Name = Annotated[str, Parameter(metavar="NAME", help="Name of the schedule, or its id.")]
Count = Annotated[
    int, Parameter(name=("--count", "-n"), metavar="N", show_default=True, help="So many of them.")
]
After = Annotated[
    str | None, Parameter(metavar="INSTANT", help="Those after this; else after now.")
]

app = App(name="schedule", help="Fire jobs and workflows by rules in time; see what became of it.")
app.command(pause)
app.command(resume)
app.command(imports)


@app.command
def ls(
    *,
    prefix: Annotated[str | None, Parameter(metavar="TEXT", help="Whose name begins so.")] = None,
    tag: Annotated[str | None, Parameter(metavar="TEXT", help="That carry this tag.")] = None,
    source: Annotated[
        Literal["api", "app", "import"] | None, Parameter(help="Where they come from.")
    ] = None,
    paused: Annotated[bool, Parameter(help="That are paused.")] = False,
    workflow: Annotated[
        str | None, Parameter(metavar="NAME", help="That start this workflow.")
    ] = None,
    queue: Annotated[str | None, Parameter(metavar="NAME", help="Whose jobs go there.")] = None,
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """List schedules by name."""
    query: dict[str, Any] = {
        "prefix": prefix,
        "tag": tag,
        "source": source,
        "paused": "true" if paused else None,
        "workflow": workflow,
        "queue": queue,
    }
    limit_or_all = None if everything else limit
    none = "there is no such schedule: windlass schedule create NAME --cron … --job …"
    show_list(reading, "/v1/schedules", query, ROW, limit=limit_or_all, none=none)


@app.command
def get(name: Name, /, *, reading: Reading = READ) -> None:
    """Show one schedule."""
    with reading.client() as client:
        show_one(reading, client.get(_path(name)), PAGE)


@app.command
def create(
    name: Name,
    /,
    *,
    rule: RuleOptions = NO_RULE,
    work: WorkOptions = NO_WORK,
    idempotency_key: Annotated[
        str | None, Parameter(metavar="TEXT", help="Again with this key gives the same schedule.")
    ] = None,
    reading: Reading = READ,
) -> None:
    """Make a schedule.

    One of --cron, --every and --at says when; --job or --workflow says what.
    """
    body = {"name": name, **rule.fields(), **work.fields()}
    with reading.client() as client:
        show_one(reading, client.post("/v1/schedules", body, idempotency_key), PAGE)


@app.command
def edit(
    name: Name,
    /,
    *,
    rule: RuleOptions = NO_RULE,
    work: WorkOptions = NO_WORK,
    clear: Annotated[
        tuple[str, ...],
        Parameter(metavar="FIELD", help="Take a field away: jitter, calendar, ends_at, …"),
    ] = (),
    reading: Reading = READ,
) -> None:
    """Change what is given and leave the rest; no instant is lost or doubled by it."""
    body = {**rule.fields(), **work.fields(), **dict.fromkeys(clear)}
    if not body:
        raise BadUsage("say what to change, such as --cron '0 9 * * *'")
    with reading.client() as client:
        show_one(reading, client.patch(_path(name), body), PAGE)


@app.command
def delete(*names: Name, server: Server = SERVED) -> int:
    """Delete schedules; what they have made goes on."""
    with server.client() as client:
        return for_each(
            names, lambda name: client.delete(_path(name)), lambda name, _: f"{name} deleted"
        )


@app.command
def trigger(
    name: Name,
    /,
    *,
    idempotency_key: Annotated[str | None, Parameter(metavar="TEXT")] = None,
    reading: Reading = READ,
) -> int:
    """Fire a schedule now, whatever its rule says; exit code 5 when its overlap forbids it."""
    with reading.client() as client:
        answer = client.post(f"{_path(name)}/trigger", None, idempotency_key)
    firing = answer.value
    made = firing.get("job_id") or firing.get("execution_id")
    match reading.output:
        case "json":
            show_json(answer.text)
        case "jsonl":
            show_json_line(firing)
        case "id":
            if made:
                show_line(made)
        case "table":
            show_line(f"{firing['state']}: {made or firing.get('reason')}")
    return Exit.OK if made else Exit.CONFLICT


@app.command
def backfill(
    name: Name,
    /,
    *,
    since: Annotated[
        str, Parameter(name="--from", metavar="WHEN", help="The first instant, or before it.")
    ],
    until: Annotated[
        str, Parameter(name="--to", metavar="WHEN", help="Up to this, and without it.")
    ],
    dry_run: Annotated[bool, Parameter(help="Only count them.")] = False,
    reading: Reading = READ,
) -> None:
    """Fire the instants of a stretch of the past that have made nothing.

    Doing it again does no harm. Count first: --dry-run.
    """
    body = {
        "from": instant("--from", since),
        "to": instant("--to", until),
        "dry_run": dry_run,
    }
    with reading.client() as client:
        answer = client.post(f"{_path(name)}/backfill", body, seconds=BATCH_CALL_SECONDS)
    found = answer.value
    match reading.output:
        case "json":
            show_json(answer.text)
        case "jsonl" | "id":
            show_json_line(found)
        case "table" if dry_run:
            before = f", {found['made']} were made before" if found["made"] else ""
            show_line(f"{found['count']} to fire{before} (at most {found['limit']} at once)")
        case "table":
            show_line(f"{found['fired']} fired, {found['skipped']} skipped")


@app.command(name="next")
def next_(
    name: Name,
    /,
    *,
    count: Count = PREVIEW_DEFAULT,
    after: After = None,
    reading: Reading = READ,
) -> None:
    """Show when a schedule is due next, in its own time zone too."""
    with reading.client() as client:
        show_times(reading, client.get(f"{_path(name)}/next", {"n": count, "after": after}))


@app.command
def preview(
    *,
    rule: RuleOptions = NO_RULE,
    count: Count = PREVIEW_DEFAULT,
    after: After = None,
    reading: Reading = READ,
) -> None:
    """Try out a rule without making a schedule: its words, and when it is due."""
    body: dict[str, Any] = {**rule.fields(), "n": count, "after": after}
    with reading.client() as client:
        show_times(reading, client.post("/v1/schedules/preview", body))


@app.command
def firings(
    name: Name,
    /,
    *,
    state: Annotated[
        tuple[Literal["fired", "late", "skipped", "coalesced"], ...],
        Parameter(help="Only these; may be repeated."),
    ] = (),
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """Show what became of each due instant, newest first."""
    limit_or_all = None if everything else limit
    query: dict[str, Any] = {"state": list(state)}
    none = "it was not due yet; see: windlass schedule next"
    show_list(reading, f"{_path(name)}/firings", query, FIRING, limit=limit_or_all, none=none)


def _path(name: str) -> str:
    return f"/v1/schedules/{segment(name)}"
