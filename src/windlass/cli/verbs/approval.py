"""`windlass approval …`: what people are asked to decide, and their answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from windlass.cli.http.listing import show_list, show_one
from windlass.cli.http.whole_id import whole_id, whole_id_or_none
from windlass.cli.options import READ, All, Limit, Reading
from windlass.cli.show.execution import APPROVAL
from windlass.cli.show.output import show_line
from windlass.cli.values import json_value
from windlass.limits import PAGE_DEFAULT

ApprovalId = Annotated[
    str, Parameter(metavar="APPROVAL", help="Id of the approval, apr_…, or its first digits.")
]
Comment = Annotated[
    str | None, Parameter(metavar="TEXT", help="Why; whoever looks later will see it.")
]
State = Literal["open", "approved", "rejected", "void"]

app = App(name="approval", help="See what is to be decided; approve or reject it.")


@app.command
def ls(
    *,
    state: Annotated[State | None, Parameter(help="Only those in this state.")] = None,
    execution: Annotated[
        str | None, Parameter(metavar="EXECUTION", help="Only of this execution.")
    ] = None,
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """List decisions, newest first."""
    show_list(
        reading,
        "/v1/approvals",
        lambda client: {
            "state": state,
            "execution_id": whole_id_or_none(client, "execution", execution),
        },
        APPROVAL,
        limit=None if everything else limit,
        none="nothing is to be decided",
    )


@app.command
def approve(
    approval: ApprovalId,
    /,
    *,
    answer: Annotated[
        str | None,
        Parameter(
            metavar="JSON|@FILE|-",
            allow_leading_hyphen=True,
            help="What the form asks for.",
        ),
    ] = None,
    comment: Comment = None,
    reading: Reading = READ,
) -> None:
    """Let the step go on. An answer that does not fit the form is refused (exit code 2)."""
    given = {} if answer is None else {"answer": json_value("--answer", answer)}
    _decide(reading, approval, "approve", {**given, "comment": comment})


@app.command
def reject(approval: ApprovalId, /, *, comment: Comment = None, reading: Reading = READ) -> None:
    """Let the step fail with the cause `rejected`."""
    _decide(reading, approval, "reject", {"comment": comment})


def _decide(reading: Reading, approval: str, verb: str, given: dict[str, Any]) -> None:
    body = {name: value for name, value in given.items() if value is not None}
    with reading.client() as client:
        path = f"/v1/approvals/{whole_id(client, 'approval', approval)}/{verb}"
        answer = client.post(path, body)
    if reading.output == "table":
        decided = answer.value
        show_line(f"{decided['id']} {decided['state']}: {decided['title']}")
    else:
        show_one(reading, answer, ())
