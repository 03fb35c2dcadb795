"""Why a durable function cannot go on: its code has changed (non-determinism), or it was misused.

`explain_mismatch` puts what it did before and what it calls now side by side; DurableMisuse is a
call that it cannot make where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from windlass.errors import WindlassError
from windlass.model.job.checkpoint import Checkpoint

LINES_MAX: Final = 40  # around the first place where they part
_NOTHING: Final = "-"

# (branch, place), and what is there: `charge`, `sleep 3d`.
Place = tuple[str, int]


def explain_mismatch(
    function: str, at: Place, stored: Iterable[Checkpoint], called: Mapping[Place, str]
) -> str:
    """A table of both, with a mark where they part."""
    kept = {(one.branch, one.place): shown(one.kind, one.name) for one in stored}
    places = sorted({*kept, *called}, key=lambda place: (_numbers(place[0]), place[1]))
    here = places.index(at)
    first = max(0, here - LINES_MAX // 2)
    rows = [
        (place, _spot(place), kept.get(place, _NOTHING), called.get(place, _NOTHING))
        for place in places[first : first + LINES_MAX]
    ]
    widths = [max(len(head), *(len(row[n]) for row in rows)) for n, head in _HEADS.items()]
    table = [_line(" ", *_HEADS.values(), widths=widths)]
    table += [_line(">" if row[0] == at else " ", *row[1:], widths=widths) for row in rows]
    return (
        f"{function!r} did {kept.get(at, _NOTHING)!r} at place {_spot(at)} before and calls "
        f"{called.get(at, _NOTHING)!r} there now; nothing was changed. Bring back the code that "
        "began it and retry its job, or cancel it and start again; give changed functions another "
        "name.\n\n" + "\n".join(table)
    )


_HEADS: Final = {1: "place", 2: "stored", 3: "called now"}


def shown(kind: str, name: str) -> str:
    return name if kind in ("step", name) else f"{kind} {name}"


def _line(mark: str, *cells: str, widths: list[int]) -> str:
    filled = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"{mark} {filled}".rstrip()


def _spot(place: Place) -> str:
    """`3` of the function itself, `0.1/3` of a task that it made."""
    branch, number = place
    return f"{branch}/{number}" if branch else str(number)


def _numbers(branch: str) -> list[int]:
    return [int(part) for part in branch.split(".")] if branch else []


class DurableMisuse(WindlassError):
    """A call that a durable function cannot make where it stands."""

    code = "durable_misuse"

    @classmethod
    def nested(cls, asked: str) -> DurableMisuse:
        """Of a verb that is called inside a step."""
        return cls(
            f"{asked} inside a step: a step is done as a whole or not at all; call it from the "
            "durable function itself"
        )

    @classmethod
    def without_execution(cls, name: str) -> DurableMisuse:
        """Of a job that is no execution's."""
        return cls(
            f"wait_for({name!r}) in a job that is no execution's: nobody could signal it; start "
            "the durable function with .start() instead of enqueuing it"
        )

    @classmethod
    def outside(cls, name: str) -> DurableMisuse:
        """Of code that no node runs."""
        return cls(
            f"wait_for({name!r}) outside a durable function that a node runs: nobody could signal "
            "it; start the function with .start()"
        )

    @classmethod
    def transaction(cls) -> DurableMisuse:
        """Of the job's own transaction."""
        return cls(
            "current().db in a durable function: its steps are committed one by one, and the job's "
            "transaction only at the end; do the work in a task of its own, or with a connection "
            "of yours and a key that makes it harmless twice"
        )
