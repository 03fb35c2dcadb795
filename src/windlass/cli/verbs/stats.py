"""`windlass stats`: how many jobs are where, from counters kept as states change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cyclopts import App

from windlass.cli.http.listing import show_one
from windlass.cli.options import READ, Reading
from windlass.cli.show.table import columns, show_table, spare
from windlass.model.job.states import STATES

app = App(name="stats", help="Counters of jobs by queue and state.")
# What is rarely looked for.
_SPARE = frozenset(("blocked", "cancelled", "expired", "skipped"))
ROW = (
    *columns("queue"),
    *(col for state in STATES for col in (spare if state in _SPARE else columns)(state)),
)


@app.default
def stats(*, reading: Reading = READ) -> None:
    """Count jobs by queue and state."""
    with reading.client() as client:
        answer = client.get("/v1/stats")
    if reading.output == "table":
        show_table(ROW, rows(answer.value), none="no queue was used yet")
    else:
        show_one(reading, answer, ())


def rows(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each queue, then one for all of them."""
    queues = [{"queue": name, **counts} for name, counts in sorted(told["queues"].items())]
    return [*queues, {"queue": "all", **told["totals"]}] if queues else []
