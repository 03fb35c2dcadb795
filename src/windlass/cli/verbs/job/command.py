"""`windlass job …`: submit work and see what becomes of it."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import App, Parameter

from windlass.cli.http.client import segment
from windlass.cli.http.each import for_each
from windlass.cli.http.listing import show_list, show_one, show_whole
from windlass.cli.http.wait import JOB, wait_and_show
from windlass.cli.options import READ, SERVED, All, Limit, Reading, Server
from windlass.cli.show.delivery import show_deliveries
from windlass.cli.show.event import EVENT
from windlass.cli.show.job import ATTEMPT, LOG_LINE, PAGE, ROW, sentence, show_why
from windlass.cli.values import seconds
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

JobId = Annotated[str, Parameter(metavar="JOB", help="Id of the job, job_…")]

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
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """List jobs, newest first."""
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
        str | None, Parameter(metavar="INSTANT", help="As it was then: 2030-01-31T12:00:00Z.")
    ] = None,
    reading: Reading = READ,
) -> None:
    """Show one job."""
    with reading.client() as client:
        show_one(reading, client.get(f"/v1/jobs/{segment(job)}", {"at": at}), PAGE)


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
        now = client.get(f"/v1/jobs/{segment(job)}")
        return wait_and_show(JOB, client, now, reading.output, longest)


@app.command
def why(job: JobId, /, *, reading: Reading = READ) -> None:
    """Say what holds a job back, since when, and when it should start."""
    with reading.client() as client:
        show_why(reading, client.get(f"/v1/jobs/{segment(job)}/why"))


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
    path = f"/v1/jobs/{segment(job)}/attempts"
    show_whole(reading, path, ATTEMPT, none="it was not tried yet")


@app.command
def deliveries(job: JobId, /, *, reading: Reading = READ) -> None:
    """Show every delivery of a webhook: what came back, and where the time went."""
    with reading.client() as client:
        show_deliveries(reading, client.get(f"/v1/jobs/{segment(job)}/webhook-status"))


@app.command
def events(job: JobId, /, *, reading: Reading = READ) -> None:
    """Show everything that happened to a job."""
    path = f"/v1/jobs/{segment(job)}/events"
    show_whole(reading, path, EVENT, none="nothing happened yet")


@app.command
def logs(job: JobId, /, *, reading: Reading = READ) -> None:
    """Show what a task logged while it ran."""
    path = f"/v1/jobs/{segment(job)}/logs"
    show_list(reading, path, {}, LOG_LINE, limit=None, none="it logged nothing")


@app.command
def rm(*jobs: JobId, server: Server = SERVED) -> int:
    """Forget finished jobs."""
    with server.client() as client:
        return for_each(
            jobs,
            lambda job: client.delete(f"/v1/jobs/{segment(job)}"),
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
            lambda job: client.post(f"/v1/jobs/{segment(job)}/{verb}"),
            lambda _, answer: sentence(answer.value),
        )
