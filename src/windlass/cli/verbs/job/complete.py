"""`windlass job complete`: say how a job ended that its receiver took over."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from windlass.cli.exits import BadUsage
from windlass.cli.http.listing import show_one
from windlass.cli.http.whole_id import whole_id
from windlass.cli.options import READ, Reading
from windlass.cli.show.moment import when
from windlass.cli.show.output import show_line
from windlass.cli.values import duration, json_value


def complete(
    job: Annotated[
        str, Parameter(metavar="JOB", help="Id of the job, job_…, or its first digits.")
    ],
    callback_token: Annotated[
        str, Parameter(metavar="TOKEN", help="The windlass-callback-token of the delivery.")
    ],
    /,
    *,
    result: Annotated[str | None, Parameter(metavar="JSON|@FILE|-")] = None,
    failed: Annotated[str | None, Parameter(metavar="MESSAGE")] = None,
    final: bool = False,
    extend: Annotated[str | None, Parameter(metavar="DURATION")] = None,
    reading: Reading = READ,
) -> None:
    """Complete a job that its receiver took over, or give the receiver more time.

    Without options the job has succeeded.

    Parameters
    ----------
    result
        It has succeeded, with this result.
    failed
        It has failed; it is tried again as its policy says.
    final
        With --failed: another try cannot help.
    extend
        It is not done yet; wait so long from now.
    """
    body = {"token": callback_token, **_said(result, failed, final, extend)}
    with reading.client() as client:
        path = f"/v1/jobs/{whole_id(client, 'job', job)}/complete"
        answer = client.post(path, body)
    if reading.output != "table":
        show_one(reading, answer, ())
        return
    found = answer.value
    until = f", may take until {when(found['callback_until'])}" if found["callback_until"] else ""
    again = f", due {when(found['run_at'])}" if found["state"] == "queued" else ""
    show_line(f"{found['id']} {found['state']}{until}{again}")


def _said(
    result: str | None, failed: str | None, final: bool, extend: str | None
) -> dict[str, Any]:
    if sum(given is not None for given in (result, failed, extend)) > 1:
        raise BadUsage("say one thing: --result, --failed or --extend")
    if final and failed is None:
        raise BadUsage("--final goes with --failed")
    if extend is not None:
        return {"extend": duration(extend)}
    if failed is not None:
        return {"state": "failed", "error": {"message": failed}, "is_final": final}
    given = {} if result is None else {"result": json_value("--result", result)}
    return {"state": "succeeded", **given}
