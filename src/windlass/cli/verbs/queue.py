"""`windlass queue …`: queues, their limits and their pause."""

from __future__ import annotations

from typing import Annotated, Any, Final

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage, Exit
from windlass.cli.http.client import Client, segment
from windlass.cli.http.each import for_each
from windlass.cli.http.listing import show_list, show_one
from windlass.cli.http.problem import Refused
from windlass.cli.options import READ, SERVED, Reading, Server
from windlass.cli.show.table import Column, columns, spare
from windlass.cli.values import limit_or_none
from windlass.model.job.states import STATES

QueueName = Annotated[str, Parameter(metavar="QUEUE", help="Name of the queue.")]
Cap = Annotated[str | None, Parameter(metavar="N|none")]
LIMITS: Final = ("max_jobs", "max_bytes", "max_running", "rate", "submit_rate")


def _count(state: str) -> Column:
    return Column(title=state, take=lambda queue: (queue.get("counts") or {}).get(state))


ROW = (
    *columns("name"),
    Column(title="state", take=lambda queue: "paused" if queue.get("is_paused") else "open"),
    *map(_count, ("queued", "running", "dead")),
    *spare("max_jobs", "max_running", "rate"),
)
PAGE = (
    *columns("name"),
    Column(title="state", take=lambda queue: "paused" if queue.get("is_paused") else "open"),
    *columns("paused_at"),
    *map(_count, STATES),
    *columns("bytes", *LIMITS, "created_at"),
)

app = App(name="queue", help="Show queues, set their limits, pause and resume them.")


@app.command
def ls(*, reading: Reading = READ) -> None:
    """List queues."""
    show_list(reading, "/v1/queues", {}, ROW, limit=None, none="no queue was used yet")


@app.command
def get(queue: QueueName, /, *, reading: Reading = READ) -> None:
    """Show one queue."""
    with reading.client() as client:
        show_one(reading, client.get(f"/v1/queues/{segment(queue)}"), PAGE)


@app.command(name="set")
def set_limits(
    queue: QueueName,
    /,
    *,
    max_jobs: Cap = None,
    max_bytes: Cap = None,
    max_running: Cap = None,
    rate: Cap = None,
    submit_rate: Cap = None,
    reading: Reading = READ,
) -> None:
    """Set limits of a queue; what is not named stays as it is.

    Parameters
    ----------
    max_jobs
        Jobs it may hold; more are refused (exit code 6).
    max_bytes
        Bytes of input it may hold.
    max_running
        Jobs of it that may run at the same time, in the whole cluster.
    rate
        Jobs of it that may start in a second, in the whole cluster.
    submit_rate
        Jobs that it takes in a second; more are refused (exit code 6).
    """
    typed = zip(LIMITS, (max_jobs, max_bytes, max_running, rate, submit_rate), strict=True)
    body = {
        name: limit_or_none(f"--{name.replace('_', '-')}", text)
        for name, text in typed
        if text is not None
    }
    if not body:
        raise BadUsage("say which limit, such as --max-running 5, or --max-running none")
    path = f"/v1/queues/{segment(queue)}"
    with reading.client() as client:
        # PUT sets all limits at once, so those not named are read and sent along.
        show_one(reading, client.put(path, {**_limits_now(client, path), **body}), PAGE)


def _limits_now(client: Client, path: str) -> dict[str, Any]:
    """The limits a queue has. A queue that is not there yet has none."""
    try:
        queue = client.get(path).value
    except Refused as refused:
        if refused.code != Exit.NOT_FOUND:
            raise
        return {}
    return {name: queue.get(name) for name in LIMITS}


@app.command
def pause(*queues: QueueName, server: Server = SERVED) -> int:
    """Start nothing more from these queues; they still take jobs."""
    return _each(queues, "pause", "paused", server)


@app.command
def resume(*queues: QueueName, server: Server = SERVED) -> int:
    """Start jobs of these queues again."""
    return _each(queues, "resume", "resumed", server)


def _each(queues: tuple[str, ...], verb: str, done: str, server: Server) -> int:
    with server.client() as client:
        return for_each(
            queues,
            lambda queue: client.post(f"/v1/queues/{segment(queue)}/{verb}"),
            lambda queue, _: f"{queue} {done}",
        )
