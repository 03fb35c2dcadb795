"""`windlass operation …`: changes of nodes and verbs on many jobs, on their way. `windlass node`,
`windlass job` and `windlass dead` ask for them.
"""

from __future__ import annotations

import math
from typing import Annotated, Final

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage
from windlass.cli.http.client import Client
from windlass.cli.http.each import for_each
from windlass.cli.http.listing import show_list
from windlass.cli.http.wait import wait_for_operation
from windlass.cli.http.whole_id import whole_id, whole_id_or_none
from windlass.cli.options import READ, SERVED, All, Limit, Reading, Server
from windlass.cli.show.bulk import ROW as BULK_ROW
from windlass.cli.show.operation import ROW, exit_of, sentence, show_operation
from windlass.cli.values import seconds
from windlass.limits import PAGE_DEFAULT
from windlass.model.cluster.operation import ENDED, PHASES, Phase

OperationId = Annotated[
    str, Parameter(metavar="OPERATION", help="Id of the operation, op_…, or its first digits.")
]
OPEN: Final = tuple(phase for phase in PHASES if phase not in ENDED)

app = App(
    name="operation",
    help="Follow changes of nodes, and verbs on many jobs; call them back.",
)


@app.command
def ls(
    *,
    node: Annotated[
        str | None, Parameter(metavar="NODE", help="Only of this node: name or id.")
    ] = None,
    is_open: Annotated[
        bool, Parameter(name="--open", help="Only those that have not ended.")
    ] = False,
    phase: Annotated[
        tuple[Phase, ...], Parameter(help="Only those in this phase; may be repeated.")
    ] = (),
    jobs: Annotated[
        bool, Parameter(negative="", help="Those on many jobs, instead of changes of nodes.")
    ] = False,
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """List operations, newest first. They are kept for a week after their end."""
    if is_open and phase:
        raise BadUsage("give one of these: --open or --phase")
    if jobs:
        if node is not None or phase:
            raise BadUsage("--jobs goes with --open, --limit and --all")
        show_list(
            reading,
            "/v1/jobs/bulk",
            {"phase": ["pending", "working"] if is_open else []},
            BULK_ROW,
            limit=None if everything else limit,
            none="no operations match",
        )
        return
    phases: list[str] = list(OPEN if is_open else phase)
    show_list(
        reading,
        "/v1/operations",
        lambda client: {"node_id": whole_id_or_none(client, "node", node), "phase": phases},
        ROW,
        limit=None if everything else limit,
        none="no operations match",
    )


@app.command
def get(operation: OperationId, /, *, reading: Reading = READ) -> None:
    """Show one operation, or each node's part in a change of the whole cluster."""
    with reading.client() as client:
        show_operation(reading, client.get(_path(client, operation)))


@app.command
def watch(
    operation: OperationId,
    /,
    *,
    timeout: Annotated[
        str | None, Parameter(metavar="DURATION", help="Wait no longer than 30s, 5m, 2h…")
    ] = None,
    reading: Reading = READ,
) -> int:
    """Stay with an operation until it has ended, and tell each phase.

    Exit code: 0 done, 1 rolled back, or some jobs were refused, 7 not ended in time, 8 aborted.
    """
    longest = math.inf if timeout is None else seconds("--timeout", timeout)
    with reading.client() as client:
        now = client.get(_path(client, operation))
        ended = wait_for_operation(client, now, longest)
    show_operation(reading, ended)
    return exit_of(ended.value)


@app.command
def abort(*operations: OperationId, server: Server = SERVED) -> int:
    """Call operations back: the nodes return to their old size. `watch` says when they have. One
    on many jobs ends at once; what it has done stays done.

    A pause, resume or drain that has begun is not called back (exit code 5).
    """
    with server.client() as client:
        return for_each(
            operations,
            lambda operation: client.post(f"{_path(client, operation)}/abort"),
            lambda _, answer: sentence(answer.value),
        )


def _path(client: Client, operation: str) -> str:
    return f"/v1/operations/{whole_id(client, 'operation', operation)}"
