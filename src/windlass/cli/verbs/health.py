"""`windlass health`: is the server well?"""

from __future__ import annotations

from cyclopts import App

from windlass.cli.exits import Exit
from windlass.cli.http.client import Answer
from windlass.cli.http.listing import show_one
from windlass.cli.http.problem import Refused
from windlass.cli.options import READ, Reading
from windlass.cli.show.output import compact
from windlass.cli.show.table import Column, columns, instant

app = App(name="health", help="Is the server well?")


def _part(name: str) -> Column:
    return Column(title=name, take=lambda health: _told(health.get(name)))


def _told(part: object) -> str:
    if not isinstance(part, dict):
        return ""
    word = "ok" if part.get("ok") else "not reachable"
    milliseconds = part.get("ms")
    return word if milliseconds is None else f"{word}, {milliseconds:.1f} ms"


PAGE = (
    *columns("status", "degraded", "queue_size", "jobs_executing"),
    instant("last execution", "last_execution"),
    *columns("workers"),
    _part("database"),
    _part("redis"),
    *columns("node_id", "leader"),
)


@app.default
def health(*, reading: Reading = READ) -> int:
    """Ask the server how it is.

    Exit code 0: ok, or degraded and working; 1: down; 9: it does not answer.
    """
    with reading.client() as client:
        try:
            answer = client.get("/health")
        except Refused as refused:
            # Down is a 503, for load balancers; the answer is its health all the same.
            if refused.document.get("status") != "down":
                raise
            body = compact(refused.document).encode()
            answer = Answer(status=refused.status, headers={}, body=body)
    show_one(reading, answer, PAGE)
    return Exit.FAILED if answer.value.get("status") == "down" else Exit.OK
