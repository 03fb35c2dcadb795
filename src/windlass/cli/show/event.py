"""What people see of an event: a row of a list, a line of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from windlass.cli.show.moment import clock_time, clock_time_or_day, precisely
from windlass.cli.show.output import compact
from windlass.cli.show.table import Column, columns, prose, spare

# Said elsewhere in the line, or of no use to a reader.
_TOLD_ALREADY: Final = frozenset({"job_id", "execution_id", "id", "type", "at"})


def subject(event: Mapping[str, Any]) -> str:
    return str(event.get("job_id") or event.get("subject") or event.get("node_id") or "")


def details(event: Mapping[str, Any]) -> str:
    """`state=queued queue=mail`: the facts of the event that are set."""
    data = event.get("data")
    facts = data if isinstance(data, Mapping) else {}
    return " ".join(
        f"{name}={value if isinstance(value, str) else compact(value)}"
        for name, value in facts.items()
        if value is not None and name not in _TOLD_ALREADY
    )


_AT: Final = Column(title="at", take="at", tell=precisely, tell_shortly=clock_time_or_day)
EVENT: Final = (
    _AT,
    *columns("type"),
    prose("details", details, is_folded=True),
)
EVENT_OF_ANY: Final = (
    _AT,
    *columns("type"),
    Column(title="subject", take=subject),
    *spare("name"),
    prose("details", details),
)


def line(event: Mapping[str, Any]) -> str:
    """One line of `windlass event tail`."""
    told = (
        clock_time(event.get("at")),
        f"{event.get('type', '?'):<16}",
        subject(event),
        str(event.get("name") or ""),
        details(event),
    )
    return "  ".join(part for part in told if part)
