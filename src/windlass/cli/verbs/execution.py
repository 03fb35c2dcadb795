"""`windlass execution …`: see how workflows run, and have a say in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage, Exit
from windlass.cli.http.client import Answer, Client, segment
from windlass.cli.http.each import for_each
from windlass.cli.http.listing import show_list, show_one
from windlass.cli.http.wait import EXECUTION, show_end, wait_and_show, wait_for_end
from windlass.cli.http.whole_id import whole_id
from windlass.cli.options import (
    ANY_LIFE,
    READ,
    SERVED,
    TIME,
    All,
    LifeWindow,
    Limit,
    Reading,
    Server,
)
from windlass.cli.show.event import EVENT_OF_ANY
from windlass.cli.show.execution import JOB, PAGE, ROW, sentence, show_why
from windlass.cli.show.execution_live import show_tree, watch_live
from windlass.cli.show.output import show_line
from windlass.cli.show.progress import is_watched
from windlass.cli.values import json_value, seconds
from windlass.limits import PAGE_DEFAULT
from windlass.model.workflow.execution import ExecutionState

ExecutionId = Annotated[
    str, Parameter(metavar="EXECUTION", help="Id of the execution, exe_…, or its first digits.")
]
Longest = Annotated[
    str | None, Parameter(metavar="DURATION", help="Wait no longer than 30s, 5m, 2h…")
]

app = App(name="execution", help="Watch workflows run; signal, pause, cancel or rerun them.")


@app.command
def ls(
    *,
    workflow: Annotated[str | None, Parameter(metavar="NAME", help="Only of this one.")] = None,
    state: Annotated[
        tuple[ExecutionState, ...], Parameter(help="Only those in this state; may be repeated.")
    ] = (),
    tag: Annotated[str | None, Parameter(metavar="TEXT", help="Only with this tag.")] = None,
    created_after: Annotated[
        str | None, Parameter(group=TIME, metavar="WHEN", help="The same as --since.")
    ] = None,
    window: LifeWindow = ANY_LIFE,
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """List executions, newest first; --since and --until go by when they were made."""
    if created_after is not None and window.since is not None:
        raise BadUsage("give one of these: --since or --created-after")
    window = replace(window, since=window.since or created_after)
    show_list(
        reading,
        "/v1/executions",
        {"workflow": workflow, "state": list(state), "tag": tag, **window.query()},
        ROW,
        limit=None if everything else limit,
        none="no executions match",
    )


@app.command
def get(execution: ExecutionId, /, *, reading: Reading = READ) -> None:
    """Show one execution with its input and output."""
    with reading.client() as client:
        show_one(reading, client.get(_path(client, execution)), PAGE)


@app.command
def watch(execution: ExecutionId, /, *, timeout: Longest = None, reading: Reading = READ) -> int:
    """Stay with an execution until it has ended, then print its output.

    At a terminal its steps are shown as they go.
    Exit code: 0 succeeded, 1 failed, 7 not finished in time, 8 cancelled.
    """
    longest = None if timeout is None else seconds("--timeout", timeout)
    with reading.client() as client:
        now = client.get(_path(client, execution))
        return show_end(EXECUTION, _ended(client, now, longest), reading.output)


@app.command
def graph(
    execution: ExecutionId,
    /,
    *,
    follow: Annotated[
        bool, Parameter(name=("--follow", "-f"), help="Show it as it goes, until it has ended.")
    ] = False,
    reading: Reading = READ,
) -> None:
    """Show the steps of an execution: how far each is, fan-outs, children."""
    with reading.client() as client:
        if follow:
            _ended(client, client.get(_path(client, execution)), None)
            if is_watched() and reading.output == "table":
                return  # it stands there already
        answer = client.get(f"{_path(client, execution)}/graph")
        if reading.output == "table":
            show_tree(client, answer)
        else:
            show_one(reading, answer, ())


@app.command
def jobs(
    execution: ExecutionId,
    /,
    *,
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """List the jobs of an execution by step."""
    show_list(
        reading,
        lambda client: f"{_path(client, execution)}/jobs",
        {},
        JOB,
        limit=None if everything else limit,
        none="it has no jobs yet",
    )


@app.command
def events(
    execution: ExecutionId,
    /,
    *,
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """Show everything that happened to an execution and its jobs."""
    show_list(
        reading,
        lambda client: f"{_path(client, execution)}/events",
        {},
        EVENT_OF_ANY,
        limit=None if everything else limit,
        none="nothing happened yet",
    )


@app.command
def why(execution: ExecutionId, /, *, reading: Reading = READ) -> None:
    """Say why an execution has not ended: what it waits for, since when, until when."""
    with reading.client() as client:
        show_why(reading, client.get(f"{_path(client, execution)}/why"))


@app.command
def signal(
    execution: ExecutionId,
    name: Annotated[str, Parameter(metavar="NAME", help="Name of the signal.")],
    /,
    *,
    payload: Annotated[
        str | None,
        Parameter(
            metavar="JSON|@FILE|-",
            allow_leading_hyphen=True,
            help="What comes with it: any JSON value, a file that holds one, or -.",
        ),
    ] = None,
    reading: Reading = READ,
) -> None:
    """Send a signal to an execution; one that nobody waits for yet is kept."""
    body = {} if payload is None else {"payload": json_value("--payload", payload)}
    with reading.client() as client:
        answer = client.post(f"{_path(client, execution)}/signals/{segment(name)}", body)
    if reading.output != "table":
        show_one(reading, answer, ())
        return
    taken = answer.value.get("taken_by")
    show_line(f"{name} taken by {taken}" if taken else f"{name} kept until a step waits for it")


@app.command
def cancel(*executions: ExecutionId, server: Server = SERVED) -> int:
    """Cancel executions: no further step begins, and what runs is asked to stop."""
    return _each(executions, "cancel", server)


@app.command
def pause(*executions: ExecutionId, server: Server = SERVED) -> int:
    """Let no further step start; what runs is let end."""
    return _each(executions, "pause", server)


@app.command
def resume(*executions: ExecutionId, server: Server = SERVED) -> int:
    """Let paused executions go on."""
    return _each(executions, "resume", server)


@app.command
def rerun(
    execution: ExecutionId,
    /,
    *,
    from_step: Annotated[
        str | None,
        Parameter(
            name="--from", metavar="STEP", help="Begin with this step; those that failed, else."
        ),
    ] = None,
    wait: Annotated[bool | str, Parameter(metavar="[=DURATION]", requires_equals=True)] = False,
    reading: Reading = READ,
) -> int:
    """Run an execution again from a step on; what came before is kept.

    Parameters
    ----------
    wait
        Stay until it has ended; with =20s no longer than that.
    """
    body = {} if from_step is None else {"from_step": from_step}
    longest = seconds("--wait", wait) if isinstance(wait, str) else None
    with reading.client() as client:
        answer = client.post(f"{_path(client, execution)}/rerun", body)
        if wait is not False:
            return wait_and_show(EXECUTION, client, answer, reading.output, longest)
    if reading.output == "table":
        show_line(sentence(answer.value))
    else:
        show_one(reading, answer, ())
    return Exit.OK


def _ended(client: Client, first: Answer, longest: float | None) -> Answer:
    """The execution once it has ended; a person sees its tree until then."""
    if is_watched():
        return watch_live(client, first, longest)
    return wait_for_end(EXECUTION, client, first, longest)


def _each(
    executions: tuple[str, ...], verb: Literal["cancel", "pause", "resume"], server: Server
) -> int:
    with server.client() as client:
        return for_each(
            executions,
            lambda execution: client.post(f"{_path(client, execution)}/{verb}"),
            lambda _, answer: sentence(answer.value),
        )


def _path(client: Client, execution: str) -> str:
    return f"/v1/executions/{whole_id(client, 'execution', execution)}"
