"""`windlass job …`: submit work and see what becomes of it."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import App, Parameter

from windlass.cli.http.client import Client, Query
from windlass.cli.http.each import for_each
from windlass.cli.http.listing import show_list, show_one, show_whole
from windlass.cli.http.wait import JOB, wait_and_show
from windlass.cli.http.whole_id import whole_id
from windlass.cli.options import (
    ANY_LIFE,
    ANY_TIME,
    READ,
    SERVED,
    All,
    LifeWindow,
    Limit,
    Reading,
    Server,
    Window,
)
from windlass.cli.show.delivery import show_deliveries
from windlass.cli.show.event import EVENT
from windlass.cli.show.job import ATTEMPT, LOG_LINE, PAGE, ROW, sentence, show_why
from windlass.cli.values import instant_or_none, seconds
from windlass.cli.verbs.job.bulk import (
    AS_USUAL,
    NOT_CHOSEN,
    BulkFilterOptions,
    BulkOptions,
    act,
    is_bulk,
)
from windlass.cli.verbs.job.complete import complete
from windlass.cli.verbs.job.submit import submit
from windlass.limits import PAGE_DEFAULT
from windlass.model.job.states import State

JobId = Annotated[str, Parameter(metavar="JOB", help="Id of the job, job_…, or its first digits.")]

app = App(name="job", help="Submit jobs, watch them, ask why they wait, cancel or retry them.")
app.command(submit)
app.command(complete)


@app.command
def ls(
    *,
    state: Annotated[
        tuple[State, ...], Parameter(help="Only those in this state; may be repeated.")
    ] = (),
    queue: Annotated[str | None, Parameter(metavar="NAME", help="Only this queue.")] = None,
    kind: Annotated[str | None, Parameter(metavar="KIND", help="Only this kind.")] = None,
    task: Annotated[
        str | None, Parameter(metavar="TASK", help="Only this Python function.")
    ] = None,
    tag: Annotated[str | None, Parameter(metavar="TEXT", help="Only with this tag.")] = None,
    target: Annotated[
        str | None, Parameter(metavar="HOST", help="Only webhooks that call this host.")
    ] = None,
    window: LifeWindow = ANY_LIFE,
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """List jobs, newest first; --since and --until go by when they were made."""
    show_list(
        reading,
        "/v1/jobs",
        {
            "state": list(state),
            "queue": queue,
            "kind": kind,
            "task": task,
            "tag": tag,
            "target": target,
            **window.query(),
        },
        ROW,
        limit=None if everything else limit,
        none="no jobs match",
    )


@app.command
def get(
    job: JobId,
    /,
    *,
    at: Annotated[
        str | None,
        Parameter(metavar="WHEN", help="As it was then: 1h (ago), 14:05, 2030-01-31T12:00:00Z."),
    ] = None,
    reading: Reading = READ,
) -> None:
    """Show one job."""
    with reading.client() as client:
        query: Query = {"at": instant_or_none("--at", at)}
        show_one(reading, client.get(_path(client, job), query), PAGE)


@app.command
def watch(
    job: JobId,
    /,
    *,
    timeout: Annotated[
        str | None, Parameter(metavar="DURATION", help="Wait no longer than 30s, 5m, 2h…")
    ] = None,
    reading: Reading = READ,
) -> int:
    """Stay with a job until it has ended, then print its result.

    Exit code: 0 succeeded, 1 failed, 7 not finished in time, 8 cancelled.
    """
    longest = None if timeout is None else seconds("--timeout", timeout)
    with reading.client() as client:
        now = client.get(_path(client, job))
        return wait_and_show(JOB, client, now, reading.output, longest)


@app.command
def why(job: JobId, /, *, reading: Reading = READ) -> None:
    """Say what holds a job back, since when, and when it should start."""
    with reading.client() as client:
        show_why(reading, client.get(f"{_path(client, job)}/why"))


@app.command
def cancel(
    *jobs: JobId,
    which: BulkFilterOptions = NOT_CHOSEN,
    how: BulkOptions = AS_USUAL,
    reading: Reading = READ,
) -> int:
    """Cancel jobs, running ones too: those named, those that match, or --all."""
    return _each(jobs, "cancel", which, how, reading)


@app.command
def retry(
    *jobs: JobId,
    which: BulkFilterOptions = NOT_CHOSEN,
    how: BulkOptions = AS_USUAL,
    reading: Reading = READ,
) -> int:
    """Queue finished jobs again: those named, or those that match; then --state says which."""
    return _each(jobs, "retry", which, how, reading)


@app.command
def promote(
    *jobs: JobId,
    which: BulkFilterOptions = NOT_CHOSEN,
    how: BulkOptions = AS_USUAL,
    reading: Reading = READ,
) -> int:
    """Make waiting jobs due now: those named, those that match, or --all."""
    return _each(jobs, "promote", which, how, reading)


@app.command
def attempts(job: JobId, /, *, reading: Reading = READ) -> None:
    """Show every try of a job: where, how long, how it ended."""
    none = "it was not tried yet"
    show_whole(reading, lambda client: f"{_path(client, job)}/attempts", ATTEMPT, none=none)


@app.command
def deliveries(job: JobId, /, *, reading: Reading = READ) -> None:
    """Show every delivery of a webhook: what came back, and where the time went."""
    with reading.client() as client:
        show_deliveries(reading, client.get(f"{_path(client, job)}/webhook-status"))


@app.command
def events(job: JobId, /, *, reading: Reading = READ) -> None:
    """Show everything that happened to a job."""
    none = "nothing happened yet"
    show_whole(reading, lambda client: f"{_path(client, job)}/events", EVENT, none=none)


@app.command
def logs(job: JobId, /, *, window: Window = ANY_TIME, reading: Reading = READ) -> None:
    """Show what a task logged while it ran."""
    none = "it logged nothing" if window == ANY_TIME else "it logged nothing in that time"
    query = window.query()
    show_list(
        reading,
        lambda client: f"{_path(client, job)}/logs",
        query,
        LOG_LINE,
        limit=None,
        none=none,
    )


@app.command
def rm(*jobs: JobId, server: Server = SERVED) -> int:
    """Forget finished jobs."""
    with server.client() as client:
        return for_each(
            jobs,
            lambda job: client.delete(_path(client, job)),
            lambda job, _: f"{job} removed",
        )


def _each(
    jobs: tuple[str, ...],
    verb: Literal["cancel", "retry", "promote"],
    which: BulkFilterOptions,
    how: BulkOptions,
    reading: Reading,
) -> int:
    if is_bulk(jobs, which, how):
        return act(verb, which, how, reading)
    with reading.client() as client:
        return for_each(
            jobs,
            lambda job: client.post(f"{_path(client, job)}/{verb}"),
            lambda _, answer: sentence(answer.value),
        )


def _path(client: Client, job: str) -> str:
    return f"/v1/jobs/{whole_id(client, 'job', job)}"
