"""`windlass workflow run`: start an execution, and stay with it if asked to."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from windlass.cli.exits import Exit
from windlass.cli.http.client import segment
from windlass.cli.http.listing import show_one
from windlass.cli.http.wait import EXECUTION, wait_and_show
from windlass.cli.options import READ, Reading
from windlass.cli.show.output import show_line
from windlass.cli.values import json_object, seconds
from windlass.model.job.states import Priority


def run(
    name: Annotated[str, Parameter(metavar="NAME", help="Name of the workflow.")],
    /,
    *,
    input: Annotated[  # noqa: A002 (the flag's name)
        str | None,
        Parameter(
            metavar="JSON|@FILE|-",
            allow_leading_hyphen=True,
            help="Input of the execution: a JSON object, a file that holds one, or -.",
        ),
    ] = None,
    version: Annotated[
        int | None, Parameter(metavar="N", help="Of this version; the newest unless said.")
    ] = None,
    priority: Annotated[Priority | None, Parameter(help="How urgent its steps are.")] = None,
    correlation_id: Annotated[
        str | None, Parameter(metavar="TEXT", help="Passed on to whatever it calls.")
    ] = None,
    tag: Annotated[
        tuple[str, ...], Parameter(metavar="TEXT", help="A word to filter by; may be repeated.")
    ] = (),
    wait: Annotated[bool | str, Parameter(metavar="[=DURATION]", requires_equals=True)] = False,
    idempotency_key: Annotated[str | None, Parameter(metavar="TEXT")] = None,
    reading: Reading = READ,
) -> int:
    """Start an execution of a workflow.

    Prints the execution. With --wait it prints its output, and the exit code says
    how it ended: 0 succeeded, 1 failed, 7 not finished in time, 8 cancelled.

    Parameters
    ----------
    wait
        Stay until the execution has ended; with =20s no longer than that.
    idempotency_key
        Starting again with this key gives the same execution.
    """
    given: dict[str, Any] = {
        "input": None if input is None else json_object("--input", input),
        "version": version,
        "priority": priority,
        "correlation_id": correlation_id,
        "tags": list(tag) or None,
    }
    body = {field: value for field, value in given.items() if value is not None}
    path = f"/v1/workflows/{segment(name)}/executions"
    longest = seconds("--wait", wait) if isinstance(wait, str) else None
    with reading.client() as client:
        answer = client.post(path, body, idempotency_key)
        if wait is not False:
            return wait_and_show(EXECUTION, client, answer, reading.output, longest)
    if reading.output == "table":
        execution = answer.value
        show_line(f"{execution['id']} {execution['state']}, {name} {execution['version']}")
    else:
        show_one(reading, answer, ())
    return Exit.OK
